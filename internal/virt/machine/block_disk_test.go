package machine

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"libvirt.org/go/libvirtxml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
)

func TestAnAttachedVolumeIsReadAsSomebodySays(t *testing.T) {
	volume := DiskSpec{Volume: "/dev/sdb", Format: "qcow2", Bus: "virtio"}
	for name, c := range map[string]struct {
		existing Disk
		said     string
		want     string
	}{
		"as it was":            {Disk{Format: "raw"}, "", "raw"},
		"otherwise":            {Disk{Format: "raw"}, "qcow2", "qcow2"},
		"by a layer's own way": {Disk{Format: "qcow2", Layer: "/p/a.snapshot"}, "raw", "qcow2"},
	} {
		t.Run(name, func(t *testing.T) {
			b := &blueprint{machine: &Machine{}}
			d := volume
			d.Format = c.said
			b.keepAttached(c.existing, d)
			if got := b.machine.Disks[0].Format; got != c.want {
				t.Errorf("it is read as %q, not %q", got, c.want)
			}
		})
	}
	layered := Disk{Format: "qcow2", Layer: "/p/a.snapshot"}
	if got := layered.readFormat("raw"); got != "raw" {
		t.Errorf("below a layer it is %q", got)
	}
}

func TestAnotherFormatNeedsARestart(t *testing.T) {
	spec := func(volume, format string) *Spec {
		return &Spec{Root: &RootSpec{Volume: volume, Format: format}, Disks: map[string]DiskSpec{"d": {Volume: volume, Format: format}}}
	}
	for name, c := range map[string]struct {
		was, is  *Spec
		restarts int
	}{
		"the same":          {spec("/v", "raw"), spec("/v", "raw"), 0},
		"another":           {spec("/v", "raw"), spec("/v", "vmdk"), 2},
		"of another volume": {spec("/v", "raw"), spec("/w", "vmdk"), 0},
	} {
		t.Run(name, func(t *testing.T) {
			changes, err := Compare(c.was, c.is, nil)
			if got := NeedRestart(changes); err != nil || len(got) != c.restarts {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
}

func TestTheFormatOfItsOwnDisksIsTheMachines(t *testing.T) {
	s := &Spec{Root: &RootSpec{SizeGiB: 1, Format: "raw"}, Disks: map[string]DiskSpec{"a": {SizeGiB: 1, Format: "raw"}, "b": {Volume: "/dev/sdb", Format: "raw"}}}
	var at []string
	for _, p := range s.validateDisks() {
		if p.Summary == "Format of the node's own disk" {
			at = append(at, fmt.Sprint(p.Path))
		}
	}
	if slices.Sort(at); strings.Join(at, " ") != "[disks a format] [root_disk format]" {
		t.Errorf("it says so at %v", at)
	}
}

// libvirt's test driver has no machine to look at.
func TestADeviceThatNobodyCanLookAtIsLibvirts(t *testing.T) {
	k := answered(t, &Spec{}, &libvirtxml.DomainCaps{})
	r := &resolver{client: k.Client, cache: k.Cache}
	missing := errors.New("no storage pool has it")
	for path, taken := range map[string]bool{"/dev/sdb": true, "/srv/disk.raw": false} {
		t.Run(path, func(t *testing.T) {
			b := &blueprint{machine: &Machine{}}
			err := r.attachDevice(t.Context(), b, "d", DiskSpec{Volume: path, Bus: "scsi"}, missing)
			if (err == nil) != taken || err != nil && !errors.Is(err, missing) {
				t.Fatal(err)
			}
			if taken && (len(b.machine.Disks) != 1 || !b.machine.Disks[0].Block || b.machine.Disks[0].Format != "raw") {
				t.Errorf("it is %+v", b.machine.Disks)
			}
			k.problems = nil
			if err := (storageChecker{k}).checkDevice(t.Context(), DiskSpec{Volume: path}, pathTo("disks", "d", "volume")); err != nil || len(k.problems) != 1 || k.problems[0].Warning != taken {
				t.Errorf("a plan says %+v, %v", k.problems, err)
			}
		})
	}
}

func TestOneDeviceHasManyPaths(t *testing.T) {
	k := answered(t, &Spec{}, &libvirtxml.DomainCaps{})
	device := hypervisor.BlockDevice{Path: "/dev/sdb"}
	for path, is := range map[string]bool{"/dev/sdb": true, "/dev/disk/by-id/b": true, "/dev/sdc": false, "": false} {
		t.Run(path, func(t *testing.T) {
			if got := (storageChecker{k}).isDevice(t.Context(), path, "/dev/disk/by-id/b", device); got != is {
				t.Errorf("it is: %t", got)
			}
		})
	}
}
