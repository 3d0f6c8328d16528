package machine

import (
	"reflect"
	"strings"
	"testing"

	"libvirt.org/go/libvirtxml"
)

// withDevices is a domain as somebody wrote it, with devices of which the provider models only a part.
func withDevices(t *testing.T) *libvirtxml.Domain {
	t.Helper()
	d := &libvirtxml.Domain{}
	err := d.Unmarshal(`<domain type='qemu'><name>n</name><sysinfo type='smbios'><bios><entry name='vendor'>V</entry></bios>
		<system><entry name='serial'>1</entry><entry name='uuid'>2ef994c7-d0f4-49ca-b5eb-9a93fadc6235</entry></system><oemStrings><entry>a</entry></oemStrings></sysinfo>
		<os><type machine='q35'>hvm</type><smbios mode='sysinfo'/></os><devices><watchdog model='itco' action='reset'/><watchdog model='ib700' action='none'/>
		<tpm model='tpm-tis'><backend type='passthrough'><device path='/dev/tpm0'/></backend></tpm>
		<serial type='tcp'><source mode='bind' host='10.0.0.1' service='2000'/><protocol type='telnet'/></serial></devices></domain>`)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestDevicesOfSomebodyAreReadAndStay(t *testing.T) {
	d := withDevices(t)
	m := Read(d)
	if m.TPM != (TPM{Model: "tpm-tis", Version: "2.0"}) || m.Watchdog != (Watchdog{Model: "ib700", Action: "none"}) ||
		m.Console != (Console{Type: "tcp", Address: "10.0.0.1", Port: 2000, Protocol: "telnet"}) || !reflect.DeepEqual(m.SMBIOS, SMBIOS{Serial: "1", OEMStrings: []string{"a"}}) {
		t.Errorf("read as %+v", m.Hardware)
	}
	before, _ := d.Marshal()
	applyTPM(d, m.TPM, m.TPM)
	applyWatchdog(d, m.Watchdog, m.Watchdog)
	applySMBIOS(d, m.SMBIOS, m.SMBIOS)
	applyConsole(d, m.Console, m.Console)
	if after, _ := d.Marshal(); after != before {
		t.Errorf("what it has made it\n%s", after)
	}
}

func TestDevicesAreTakenAway(t *testing.T) {
	d := withDevices(t)
	m := Read(d)
	applyTPM(d, m.TPM, DefaultTPM)
	applyWatchdog(d, m.Watchdog, DefaultWatchdog)
	applySMBIOS(d, m.SMBIOS, SMBIOS{})
	applyConsole(d, m.Console, Console{Type: "pty"})
	after, _ := d.Marshal()
	for text, stays := range map[string]bool{
		"itco": true, "ib700": false, "<tpm": false, `name="serial"`: false, "oemStrings": false, `name="vendor"`: true, `name="uuid"`: true, `mode="sysinfo"`: true, "telnet": false, `<serial type="pty">`: true,
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			if strings.Contains(after, text) != stays {
				t.Errorf("having %s is %t:\n%s", text, !stays, after)
			}
		})
	}
	if m := Read(d); m.TPM != DefaultTPM || m.Watchdog != DefaultWatchdog || m.Console.Type != "pty" {
		t.Errorf("read as %+v", m.Hardware)
	}
}

func TestConsolesOfAPersonStay(t *testing.T) {
	t.Parallel()
	pty, tcp, off := Console{Type: "pty"}, Console{Type: "tcp", Address: "10.0.0.1", Port: 2000, Protocol: "telnet"}, Console{Type: "none"}
	for name, changes := range map[string][]Console{"to tcp": {tcp}, "to tcp and back": {tcp, pty}, "to none": {off}, "to none and back": {off, pty}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := &libvirtxml.Domain{}
			err := d.Unmarshal(`<domain type='qemu'><name>n</name><devices>
				<serial type='pty'><target port='0'/></serial><serial type='file'><source path='/second'/><target port='1'/></serial>
				<console type='pty'><target type='serial' port='0'/></console><console type='pty'><target type='virtio' port='1'/></console></devices></domain>`)
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range changes {
				applyConsole(d, readConsole(d), want)
				if got := readConsole(d); got != want {
					t.Errorf("%+v is read as %+v", want, got)
				}
			}
			after, _ := d.Marshal()
			if !strings.Contains(after, "/second") || strings.Count(after, `type="virtio"`) != 1 || strings.Count(after, "<console") > 2 {
				t.Errorf("it has\n%s", after)
			}
		})
	}
}

func TestAnEncryptedTPMStaysSo(t *testing.T) {
	t.Parallel()
	d := &libvirtxml.Domain{}
	err := d.Unmarshal(`<domain type='qemu'><name>n</name><devices><tpm model='tpm-tis'><backend type='emulator' version='2.0'><encryption secret='6dd3e4a5'/></backend></tpm></devices></domain>`)
	if err != nil {
		t.Fatal(err)
	}
	want := TPM{Model: "tpm-crb", Version: "2.0"}
	applyTPM(d, readTPM(d), want)
	if after, _ := d.Marshal(); readTPM(d) != want || !strings.Contains(after, `secret="6dd3e4a5"`) {
		t.Errorf("it is\n%s", after)
	}
}

func TestAFirmwareThatIsToldNothingMoreIsAsBefore(t *testing.T) {
	d := &libvirtxml.Domain{OS: &libvirtxml.DomainOS{}}
	applySMBIOS(d, SMBIOS{}, SMBIOS{Product: "p", OEMStrings: []string{"x"}})
	if got := readSMBIOS(d); got.Product != "p" || len(got.OEMStrings) != 1 || d.OS.SMBios == nil {
		t.Errorf("it is told %+v", got)
	}
	applySMBIOS(d, readSMBIOS(d), SMBIOS{})
	if len(d.SysInfo) != 0 || d.OS.SMBios != nil {
		t.Errorf("left are %+v, %+v", d.SysInfo, d.OS.SMBios)
	}
}
