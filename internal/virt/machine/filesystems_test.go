package machine

import (
	"strings"
	"testing"

	"libvirt.org/go/libvirtxml"
)

func TestSharesOfOthersStayAndMemoryIsSharedForVirtiofsAlone(t *testing.T) {
	d := &libvirtxml.Domain{}
	err := d.Unmarshal(`<domain type='qemu'><name>n</name><devices>
		<filesystem type='mount' accessmode='squash'><source dir='/a'/><target dir='a'/></filesystem>
		<filesystem type='ram'><source usage='1024' units='KiB'/><target dir='r'/></filesystem></devices></domain>`)
	if err != nil {
		t.Fatal(err)
	}
	before, _ := d.Marshal()
	was := shareDevices.readDevices(d)
	if len(was) != 1 || was[0] != (Filesystem{Source: "/a", Target: "a", Driver: "9p"}) {
		t.Fatalf("read as %+v", was)
	}
	want := append([]Filesystem{{Source: "/b", Target: "b", Driver: virtiofs}}, was...)
	shareDevices.putDevices(d, was, want)
	after, _ := d.Marshal()
	for _, text := range []string{`accessmode="squash"`, `type="ram"`, `<driver type="virtiofs">`, `<source type="memfd">`, `<access mode="shared">`} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			if !strings.Contains(after, text) {
				t.Errorf("%s is missing:\n%s", text, after)
			}
		})
	}
	if got := shareDevices.readDevices(d); len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("read back as %+v", got)
	}
	shareDevices.putDevices(d, want, was)
	if again, _ := d.Marshal(); again != before {
		t.Errorf("without the share it is\n%s", again)
	}
}

func TestMemoryOfSomebodyIsSharedAsItIs(t *testing.T) {
	d := &libvirtxml.Domain{MemoryBacking: &libvirtxml.DomainMemoryBacking{MemoryHugePages: &libvirtxml.DomainMemoryHugepages{}}}
	shareMemory(d, false, true)
	if b := d.MemoryBacking; b.MemorySource != nil || b.MemoryAccess == nil || b.MemoryHugePages == nil {
		t.Errorf("it became %+v", b)
	}
	shareMemory(d, true, false)
	if d.MemoryBacking == nil || d.MemoryBacking.MemoryHugePages == nil {
		t.Errorf("it lost its pages: %+v", d.MemoryBacking)
	}
}

func TestMemoryThatACardOfSomebodyNeedsStaysShared(t *testing.T) {
	card := libvirtxml.DomainInterface{Source: &libvirtxml.DomainInterfaceSource{VHostUser: &libvirtxml.DomainInterfaceSourceVHostUser{}}}
	for name, devices := range map[string]*libvirtxml.DomainDeviceList{"a card": {Interfaces: []libvirtxml.DomainInterface{card}}, "none": {}} {
		t.Run(name, func(t *testing.T) {
			d := &libvirtxml.Domain{Devices: devices}
			shareMemory(d, false, true)
			shareMemory(d, true, false)
			if (d.MemoryBacking != nil) != (name == "a card") {
				t.Errorf("its memory is %+v", d.MemoryBacking)
			}
		})
	}
}
