package machine

import (
	"strings"
	"testing"

	"libvirt.org/go/libvirtxml"
)

func xmlOf(t *testing.T, d *libvirtxml.Domain) string {
	t.Helper()
	text, err := d.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestFilterByHandStaysUntilTheProvidersTakesItsPlace(t *testing.T) {
	d := byHand(t)
	m := Read(d)
	m.Interfaces[0].Filter = "" // no port security
	if err := Apply(d, m); err != nil {
		t.Fatal(err)
	}
	if got := xmlOf(t, d); !strings.Contains(got, `<filterref filter="byhand">`) || !strings.Contains(got, `value="10.0.0.9"`) {
		t.Errorf("the filter is lost:\n%s", got)
	}
	want := m.Interfaces[0]
	want.Model = "e1000e"
	if again := ReplugInterface(&d.Devices.Interfaces[0], &want); again.FilterRef == nil || again.Driver == nil || again.Model.Type != "e1000e" {
		t.Errorf("plugged in anew it is %+v", again)
	}
	for _, own := range []string{FilterPrefix + "hand-525400123456", ""} {
		t.Run(own, func(t *testing.T) {
			m.Interfaces[0].Filter = own
			if err := Apply(d, m); err != nil {
				t.Fatal(err)
			}
			f := d.Devices.Interfaces[0].FilterRef
			if own == "" && f != nil || own != "" && (f == nil || f.Filter != own) {
				t.Errorf("want filter %q, got %+v", own, f)
			}
		})
	}
}

func TestFeaturesOfTheProcessorOutliveItsModel(t *testing.T) {
	d := byHand(t)
	m := Read(d)
	no := false
	m.CPU = CPU{Mode: "custom", Model: "Nehalem", Nested: &no, Feature: "vmx"}
	if err := Apply(d, m); err != nil {
		t.Fatal(err)
	}
	got := xmlOf(t, d)
	for _, want := range []string{"Nehalem", `<feature policy="disable" name="x2apic">`, `<feature policy="disable" name="vmx">`} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			if !strings.Contains(got, want) {
				t.Errorf("%s is missing:\n%s", want, got)
			}
		})
	}
}

func TestOnlyTheProvidersOwnVideoGoesWithTheScreen(t *testing.T) {
	d := byHand(t)
	m := Read(d)
	m.Graphics = "none"
	if err := Apply(d, m); err != nil {
		t.Fatal(err)
	}
	if len(d.Devices.Videos) != 1 || d.Devices.Videos[0].Model.Type != "vga" || len(d.Devices.Graphics) != 0 {
		t.Errorf("video is %+v, graphics %+v", d.Devices.Videos, d.Devices.Graphics)
	}
	own, _ := Render(machines()["pc-uefi"])
	own.Devices.Videos[0].Model.Heads, own.Devices.Videos[0].Model.Primary = 1, "yes" // as libvirt completes it
	m = Read(own)
	m.Graphics = "none"
	if err := Apply(own, m); err != nil {
		t.Fatal(err)
	}
	if len(own.Devices.Videos) != 0 {
		t.Errorf("video is left: %+v", own.Devices.Videos)
	}
}

func TestDiskKeepsItsLimitsOnAnotherBus(t *testing.T) {
	d := byHand(t)
	io := uint(1)
	d.Devices.Disks[0].Driver.IOThread, d.Devices.Disks[0].Boot = &io, &libvirtxml.DomainDeviceBoot{Order: 1}
	d.Devices.Disks[1].Serial = "S1"
	m := Read(d)
	m.Disks[0].Bus, m.Disks[1].Bus = "scsi", "scsi"
	if err := Apply(d, m); err != nil {
		t.Fatal(err)
	}
	got := xmlOf(t, d)
	for _, want := range []string{`cache="unsafe"`, "<total_iops_sec>1000</total_iops_sec>", `<boot order="1">`, "<serial>S1</serial>", `<target dev="sda" bus="scsi">`, `<target dev="sdb" bus="scsi">`} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			if !strings.Contains(got, want) {
				t.Errorf("%s is missing:\n%s", want, got)
			}
		})
	}
	if strings.Contains(got, "iothread=") {
		t.Errorf("what only virtio has went along:\n%s", got)
	}
}

func TestDisksThatAreNamedAsVolumes(t *testing.T) {
	d := byHand(t)
	named := &libvirtxml.DomainDiskSource{Volume: &libvirtxml.DomainDiskSourceVolume{Pool: "default", Volume: "hand.qcow2"}}
	d.Devices.Disks[0].Source = named
	m := Read(d)
	root := m.Disk(Root)
	if root == nil || root.Pool != "default" || root.Volume != "hand.qcow2" {
		t.Fatalf("the root disk is %+v", root)
	}
	root.Path, root.Bus = "/pool/hand.qcow2", "sata" // found by the hypervisor
	if err := Apply(d, m); err != nil {
		t.Fatal(err)
	}
	moved := d.Devices.Disks[len(d.Devices.Disks)-1]
	if moved.Target.Bus != "sata" || moved.Source.Volume == nil || moved.Source.Volume.Volume != "hand.qcow2" {
		t.Errorf("on another bus it is %+v", moved)
	}
	other := Disk{Key: Root, Path: "/pool/other.qcow2", Format: "qcow2", Bus: "sata"}
	if again := ReplugDisk(&moved, &other, NewDisk(d, &other)); again.Source.File == nil || again.Source.File.File != other.Path {
		t.Errorf("with another volume it is %+v", again.Source)
	}
}

func TestWhatBelongsToSpiceGoesWithIt(t *testing.T) {
	d := &libvirtxml.Domain{}
	if err := d.Unmarshal(strings.NewReplacer(`<graphics type='vnc' port='-1' autoport='yes' passwd='secret'/>`, `<graphics type='spice' autoport='yes'/><graphics type='egl-headless'/>
		<channel type='spicevmc'><target type='virtio' name='com.redhat.spice.0'/></channel><channel type='unix'><target type='virtio' name='else'/></channel>
		<redirdev bus='usb' type='spicevmc'/><audio id='1' type='spice'/>`).Replace(byHandText(t))); err != nil {
		t.Fatal(err)
	}
	m := Read(d)
	m.Graphics = "none"
	if err := Apply(d, m); err != nil {
		t.Fatal(err)
	}
	got := xmlOf(t, d)
	if strings.Contains(got, "spice") {
		t.Errorf("Spice is left:\n%s", got)
	}
	for _, want := range []string{"egl-headless", `name="else"`, `<audio id="1" type="none">`} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			if !strings.Contains(got, want) {
				t.Errorf("%s is lost:\n%s", want, got)
			}
		})
	}
}

func TestBootOrderByKindReplacesThatOfEveryDevice(t *testing.T) {
	d := byHand(t)
	d.OS.BootDevices = nil
	order := &libvirtxml.DomainDeviceBoot{Order: 1}
	d.Devices.Disks[0].Boot, d.Devices.Interfaces[0].Boot = order, order
	d.Devices.Hostdevs, d.Devices.RedirDevs = []libvirtxml.DomainHostdev{{Boot: order}}, []libvirtxml.DomainRedirDev{{Boot: order}}
	m := Read(d)
	m.Boot.Order = []string{"hd"}
	if err := Apply(d, m); err != nil {
		t.Fatal(err)
	}
	if x := d.Devices; x.Disks[0].Boot != nil || x.Interfaces[0].Boot != nil || x.Hostdevs[0].Boot != nil || x.RedirDevs[0].Boot != nil {
		t.Errorf("a device has an order of its own still, which libvirt refuses: %+v", x)
	}
}

// A disk that a snapshot has in a layer is the volume below it to all who ask, and stays in its layer whatever changes.
func TestADiskStaysInItsLayer(t *testing.T) {
	const layer = "/p/data.qcow2.vcsnap-before"
	d := byHand(t)
	d.Devices.Disks[0].Source = &libvirtxml.DomainDiskSource{File: &libvirtxml.DomainDiskSourceFile{File: layer}}
	d.Devices.Disks[0].Driver.Type = "qcow2"
	m := Read(d)
	root := m.Disk(Root)
	if root.Path != "/p/data.qcow2" || root.Layer != layer {
		t.Fatalf("it is read as %+v", root)
	}
	m.MemoryMiB /= 2
	root.Bus = "sata" // plugged in anew
	if err := Apply(d, m); err != nil {
		t.Fatal(err)
	}
	x := FindDisk(d, root.Target)
	if x == nil || x.Target.Bus != "sata" || x.Source.File.File != layer || x.Driver.Type != "qcow2" {
		t.Errorf("it became %+v", x)
	}
	if DiskAt(d, "/p/data.qcow2") != x {
		t.Error("it is not found at its volume")
	}
}
