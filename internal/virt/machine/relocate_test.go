package machine

import (
	"encoding/xml"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"libvirt.org/go/libvirtxml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/drive"
)

// TestMovedMachineNamesWhatTheOtherHypervisorHas compares a machine before a move and after it.
func TestMovedMachineNamesWhatTheOtherHypervisorHas(t *testing.T) {
	t.Parallel()
	was := &Spec{
		Hypervisor: "one", Name: "n", Hardware: Hardware{MemoryMiB: 512},
		Root: &RootSpec{Image: "/a/tiny.qcow2", SizeGiB: 3, Pool: "a"}, Disks: map[string]DiskSpec{"data": {SizeGiB: 1, Pool: "a"}},
		Interfaces: []InterfaceSpec{{MAC: "52:54:00:aa:6c:b1", Network: "left", IP: Address("10.0.0.1")}}, CDROM: &CDROM{Image: "/a/disc.iso"},
	}
	want := &Spec{
		Hypervisor: "two", Name: "n", Hardware: Hardware{MemoryMiB: 1024},
		Root: &RootSpec{Image: "/b/tiny.qcow2", SizeGiB: 4, Pool: "b"}, Disks: map[string]DiskSpec{"data": {SizeGiB: 2, Pool: "c"}, "more": {SizeGiB: 1, Pool: "b"}},
		Interfaces: []InterfaceSpec{{MAC: "52:54:00:aa:6c:b2", Network: "new"}, {MAC: "52:54:00:aa:6c:b1", Network: "right", IP: Address("10.0.0.2")}},
	}
	got := was.MovedTo(want)
	wanted := &Spec{
		Hypervisor: "two", Name: "n", Hardware: Hardware{MemoryMiB: 512},
		Root: &RootSpec{Image: "/b/tiny.qcow2", SizeGiB: 3, Pool: "b"}, Disks: map[string]DiskSpec{"data": {SizeGiB: 1, Pool: "c"}},
		Interfaces: []InterfaceSpec{{MAC: "52:54:00:aa:6c:b1", Network: "right", IP: Address("10.0.0.1")}},
	}
	if diff := cmp.Diff(wanted, got, cmp.AllowUnexported(InterfaceSpec{}), cmp.Comparer(func(a, b InterfaceSpec) bool { return a.MAC == b.MAC && a.Network == b.Network && a.IP == b.IP })); diff != "" {
		t.Error(diff)
	}
	if was.Hypervisor != "one" || was.Root.Pool != "a" || was.Interfaces[0].Network != "left" {
		t.Errorf("it was changed itself: %+v", was)
	}
}

// TestMigratedXMLNamesTheOtherHypervisorsFiles rewrites what runs for another hypervisor.
func TestMigratedXMLNamesTheOtherHypervisorsFiles(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/everything.xml")
	if err != nil {
		t.Fatal(err)
	}
	var x libvirtxml.Domain
	if err := x.Unmarshal(string(text)); err != nil {
		t.Fatal(err)
	}
	x.Metadata.XML += `<t:turn xmlns:t="https://github.com/virtcluster/terraform-provider-virtcluster/turn/1" number="3"/>`
	x.Devices.Disks = append(x.Devices.Disks, *drive.New("sata", x.Devices.Disks))
	drive.SetSource(&x.Devices.Disks[len(x.Devices.Disks)-1], &libvirtxml.DomainDiskSource{File: &libvirtxml.DomainDiskSourceFile{File: "/pool/disc.iso"}})
	x.Devices.Interfaces[0].Source.Network.PortID = "7f1c2f7e-3d5b-4c55-9d5e-0a6f3c1c2b3b"
	existing := Read(&x)
	there := *existing
	there.Disks, there.Interfaces, there.IgnitionFile = nil, nil, "/other/ignition.json"
	for _, d := range existing.Disks {
		d.Path = strings.Replace(strings.Replace(d.Path, "/pool/", "/other/", 1), "/dev/vg/", "/dev/other/", 1)
		there.Disks = append(there.Disks, d)
	}
	for _, i := range existing.Interfaces {
		if i.Network != "" {
			i.Network = "othernet0"
		}
		there.Interfaces = append(there.Interfaces, i)
	}
	there.Mark.Arrival = &Arrival{From: "one"}
	r := &relocation{d: &hypervisor.Domain{Name: x.Name}, existing: existing, b: &blueprint{machine: &there}}
	if err := r.rewriteXML(&x); err != nil {
		t.Fatal(err)
	}
	rewritten, err := x.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	for _, gone := range []string{"/pool/", "/dev/vg/", "kimgtnet0", "portid", "turn/1"} {
		if strings.Contains(rewritten, gone) {
			t.Errorf("%q is still in\n%s", gone, rewritten)
		}
	}
	got := Read(&x)
	if len(got.Disks) != len(existing.Disks) || got.Disks[0].Path != "/other/root.qcow2" || got.Disks[0].Target != existing.Disks[0].Target || got.Interfaces[0].Network != "othernet0" || !reflect.DeepEqual(got.Interfaces[1], existing.Interfaces[1]) {
		t.Errorf("got %+v and %+v", got.Disks, got.Interfaces)
	}
	if got.Mark.Arrival == nil || got.Mark.Arrival.From != "one" || got.Mark.Role != existing.Mark.Role {
		t.Errorf("the mark is %+v", got.Mark)
	}
}

// TestDepartureIsReadBack writes what a machine's mark says on its way.
func TestDepartureIsReadBack(t *testing.T) {
	t.Parallel()
	was := Departure{To: "two", Off: true, Volumes: []DepartedVolume{{Pool: "default", Name: "n-root.qcow2"}}, Interfaces: []DepartedInterface{{"52:54:00:aa:6c:b1", "net"}}}
	m := &Machine{Name: "n", UUID: someUUID, Mark: Mark{Departure: &was}}
	element, err := m.RenderMark()
	if err != nil {
		t.Fatal(err)
	}
	var got Mark
	if err := xml.Unmarshal([]byte(element), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&was, got.Departure); diff != "" || !got.isMoving() || (&Mark{}).isMoving() {
		t.Errorf("%s\n%s", element, diff)
	}
}

// TestWhatKeepsAMachineWhereItIs goes over reasons against a move.
func TestWhatKeepsAMachineWhereItIs(t *testing.T) {
	t.Parallel()
	no := false
	for name, c := range map[string]struct {
		stays bool
		what  bool
	}{
		"nothing":           {false, refuseSnapshots(&Machine{}, nil) != nil},
		"a checkpoint":      {true, refuseCheckpoints(&Machine{}, []hypervisor.Checkpoint{{Name: "c"}}) != nil},
		"no checkpoint":     {false, refuseCheckpoints(&Machine{}, nil) != nil},
		"a snapshot":        {true, refuseSnapshots(&Machine{}, []hypervisor.Snapshot{{Name: "s"}}) != nil},
		"a layer":           {true, refuseSnapshots(&Machine{Disks: []Disk{{Path: "/p/v", Layer: "/p/v.vcsnap-s"}}}, nil) != nil},
		"off, with UEFI":    {true, storeOfOff(&Machine{Hardware: Hardware{Firmware: "uefi"}}, false)},
		"off, with a BIOS":  {false, storeOfOff(&Machine{Hardware: Hardware{Firmware: "bios"}}, false)},
		"running, UEFI":     {false, storeOfOff(&Machine{Hardware: Hardware{Firmware: "uefi"}}, true)},
		"allow":             {false, !(&Spec{Settings: Settings{Migration: &Migration{}}}).MayMigrate()},
		"allow = false":     {true, !(&Spec{Settings: Settings{Migration: &Migration{Allow: &no}}}).MayMigrate()},
		"an attached root":  {true, !(&Spec{Root: &RootSpec{Volume: "/p/v"}}).HasOwnDisks()},
		"an attached disk":  {true, !(&Spec{Disks: map[string]DiskSpec{"d": {Volume: "/p/v"}}}).HasOwnDisks()},
		"disks of its own":  {false, !(&Spec{Root: &RootSpec{}, Disks: map[string]DiskSpec{"d": {SizeGiB: 1}}}).HasOwnDisks()},
		"no disk whatever":  {false, !(&Spec{}).HasOwnDisks()},
		"no word about it":  {false, !(&Spec{}).MayMigrate()},
		"a volume, no root": {true, !(&Spec{Disks: map[string]DiskSpec{"d": {Volume: "x"}, "e": {SizeGiB: 1}}}).HasOwnDisks()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.what != c.stays {
				t.Errorf("it stays: %t", c.what)
			}
		})
	}
}
