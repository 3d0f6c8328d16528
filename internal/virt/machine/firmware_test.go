package machine

import (
	"fmt"
	"testing"

	"libvirt.org/go/libvirtxml"
)

// withFirmware is a machine that was made with a firmware.
func withFirmware(t *testing.T, firmware string) *libvirtxml.Domain {
	t.Helper()
	m := *machines()["minimal"]
	m.Firmware, m.Mark.Creating = firmware, ""
	d, err := Render(&m)
	if err != nil {
		t.Fatal(err)
	}
	if got := Read(d); got.Firmware != firmware || got.Mark.Store != nil {
		t.Fatalf("a new machine has %q and store %+v", got.Firmware, got.Mark.Store)
	}
	return d
}

// turn changes a domain's firmware and returns what was applied. The machine comes from elsewhere, as a plan's does.
func turn(t *testing.T, d *libvirtxml.Domain, firmware string) *Machine {
	t.Helper()
	m := *machines()["minimal"]
	m.Firmware = firmware
	if err := Apply(d, &m); err != nil {
		t.Fatal(err)
	}
	return &m
}

func TestStoreOfAnotherFirmwareIsOutdatedUntilItIsReplaced(t *testing.T) {
	for _, change := range []struct {
		by   []string
		want bool
	}{
		{[]string{"uefi", "uefi-secure"}, true},
		{[]string{"uefi-secure", "uefi"}, true},
		{[]string{"uefi", "bios", "uefi-secure"}, true},
		{[]string{"uefi", "uefi-secure", "uefi-secure"}, true}, // the change was interrupted
		{[]string{"uefi", "uefi-secure", "uefi"}, false},       // and taken back
		{[]string{"uefi", "bios", "uefi"}, false},
		{[]string{"uefi", "uefi"}, false},
		{[]string{"bios", "uefi-secure"}, false},
		{[]string{"uefi", "bios"}, false}, // there is nothing to start with it
	} {
		t.Run(fmt.Sprint(change.by), func(t *testing.T) {
			t.Parallel()
			d := withFirmware(t, change.by[0])
			var m *Machine
			for _, firmware := range change.by[1:] {
				m = turn(t, d, firmware)
			}
			if got := m.HasOutdatedStore(); got != change.want {
				t.Errorf("%v: outdated is %t, want %t", change.by, got, change.want)
			}
			// What is half-done differs from whatever is wanted.
			if got := Read(d).Firmware; (got == m.Firmware) == change.want {
				t.Errorf("%v: firmware reads as %q", change.by, got)
			}
		})
	}
}

// TestACardsOwnProgramStaysOutUnderSecureBoot has machines change between kinds of firmware, one of them with what a person set.
func TestACardsOwnProgramStaysOutUnderSecureBoot(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		by   []string
		set  string
		want string
	}{
		{[]string{"uefi-secure"}, "", "no"}, {[]string{"uefi"}, "", ""}, {[]string{"uefi", "uefi-secure"}, "", "no"}, {[]string{"uefi-secure", "bios"}, "", ""},
		{[]string{"uefi", "bios"}, "no", "no"}, {[]string{"uefi", "uefi-secure"}, "yes", "no"},
		{[]string{"uefi-secure", "uefi-secure"}, "yes", "yes"}, {[]string{"uefi-secure", "bios"}, "yes", "yes"},
	} {
		t.Run(fmt.Sprint(c.by, c.set), func(t *testing.T) {
			t.Parallel()
			m := *machines()["minimal"]
			m.Firmware, m.Interfaces, m.Mark.Creating = c.by[0], []Interface{{MAC: "52:54:00:aa:00:01", Network: "n", Model: "virtio"}}, ""
			d, err := Render(&m)
			if err != nil {
				t.Fatal(err)
			}
			if c.set != "" {
				d.Devices.Interfaces[0].ROM = &libvirtxml.DomainROM{Enabled: c.set}
			}
			for _, firmware := range c.by[1:] {
				m.Firmware = firmware
				if err := Apply(d, &m); err != nil {
					t.Fatal(err)
				}
			}
			got := ""
			if rom := d.Devices.Interfaces[0].ROM; rom != nil {
				got = rom.Enabled
			}
			if got != c.want {
				t.Errorf("the card's program is %q, want %q", got, c.want)
			}
		})
	}
}

func TestOtherChangesLeaveTheAccountOfTheStore(t *testing.T) {
	d := withFirmware(t, "uefi")
	turn(t, d, "bios")
	m := Read(d)
	m.MemoryMiB, m.Mark.Store = 64, nil
	if err := Apply(d, m); err != nil {
		t.Fatal(err)
	}
	if got := Read(d).Mark.Store; got == nil || got.Firmware != "uefi" {
		t.Errorf("store is %+v", got)
	}
}

func TestStoreLeftByABIOSIsReclaimed(t *testing.T) {
	for path, want := range map[string]string{"/vars/mine.fd": "/vars/mine.fd", "/var/lib/libvirt/qemu/nvram/okd-master-01_VARS.fd": ""} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			d := withFirmware(t, "uefi")
			d.OS.NVRam = &libvirtxml.DomainNVRam{NVRam: path, Template: "/usr/share/OVMF/OVMF_VARS.fd"}
			if ReclaimStore(d) {
				t.Error("undefining a machine with UEFI removes its store anyhow")
			}
			turn(t, d, "bios")
			if d.OS.NVRam != nil || !ReclaimStore(d) || configuredFirmware(d) != "uefi" {
				t.Fatalf("%s is not reclaimed: %+v", path, d.OS)
			}
			got := ""
			if d.OS.NVRam != nil {
				got = d.OS.NVRam.NVRam
			}
			if got != want {
				t.Errorf("the store is %q, want %q", got, want)
			}
		})
	}
	if ReclaimStore(withFirmware(t, "bios")) {
		t.Error("a machine that never had UEFI has no store")
	}
}
