package storage

import (
	"fmt"
	"path"

	"libvirt.org/go/libvirtxml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

const (
	gib = 1 << 30
	// MaxSizeGiB is what QEMU can map with the clusters of 64 KiB that libvirt gives to a qcow2 volume, 2 PiB: 2^22 entries of the
	// first table (QEMU's block/qcow2.h, QCOW_MAX_L1_SIZE) of 512 MiB each.
	MaxSizeGiB = 1 << 21
)

// Volume is a disk in a pool in plain values, with the names of their attributes (convert.ToPlain): empty, or an overlay of an image.
type Volume struct {
	Pool string `attr:"pool"`
	Name string `attr:"name"`
	// Format is "qcow2" or "raw".
	Format string `attr:"format"`
	// SizeGiB is what a machine sees, in whole GiB; 0 takes the image's.
	SizeGiB int64 `attr:"size_gib,zero"`
	// Image is a path, or the name of a volume in the same pool; "" for none.
	Image string `attr:"image"`
	// Path is where the volume is on the hypervisor; "" for one that is to be made.
	Path string `attr:"id"`
}

// Validate finds what is wrong without asking a hypervisor.
func (v Volume) Validate() []service.Problem {
	problems := checkName(v.Name)
	if v.SizeGiB < 0 || v.SizeGiB > MaxSizeGiB {
		problems = append(problems, service.Problemf([]any{"size_gib"}, "Invalid volume size", "A volume has 1 to %d GiB, and not %d.", int64(MaxSizeGiB), v.SizeGiB))
	}
	return problems
}

// Compare says what changing a volume into what is wanted takes. The pool and the name are where it is, and not compared.
func (v Volume) Compare(want Volume) []Change {
	var changes []Change
	if v.Format != want.Format {
		changes = append(changes, Change{Attribute: "format", Effect: Anew})
	}
	if v.ImagePath(want.Image) != v.ImagePath(v.Image) {
		changes = append(changes, Change{Attribute: "image", Effect: Anew})
	}
	switch {
	case want.SizeGiB == 0 || want.SizeGiB == v.SizeGiB:
	case want.SizeGiB > v.SizeGiB:
		changes = append(changes, Change{Attribute: "size_gib", Effect: InPlace})
	case len(changes) == 0: // else it is made anew anyway
		changes = append(changes, Change{Attribute: "size_gib", Effect: Refused, Why: fmt.Sprintf(
			"The volume %q has %d GiB, and a smaller one would cut off what is on it. Write size_gib = %d or more, or make a volume of another name.", v.Name, v.SizeGiB, v.SizeGiB)})
	}
	return changes
}

// ImagePath returns the path of an image, as libvirt spells it, that is given by its path, or by its name in the volume's own pool.
func (v Volume) ImagePath(image string) string {
	switch {
	case image == "":
		return ""
	case path.IsAbs(image):
		return path.Clean(image)
	}
	return path.Join(path.Dir(v.Path), image)
}

// capacityBytes returns the wanted capacity: without a size that of the image, in whole GiB.
func (v Volume) capacityBytes(image *hypervisor.Volume) uint64 {
	if v.SizeGiB > 0 {
		return uint64(v.SizeGiB) * gib
	}
	if image == nil {
		return 0
	}
	return uint64(image.CapacityGiB()) * gib
}

// renderXML returns what libvirt is asked to make.
func (v Volume) renderXML(image *hypervisor.Volume) *libvirtxml.StorageVolume {
	x := NewMarkedVolume(v.Name, v.Format, v.capacityBytes(image))
	x.Allocation = &libvirtxml.StorageVolumeSize{Unit: "bytes", Value: 0}
	if image != nil {
		x.BackingStore = NewBacking(image)
	}
	return x
}

// NewBacking returns what a volume says of the one below it.
func NewBacking(below *hypervisor.Volume) *libvirtxml.StorageVolumeBackingStore {
	return &libvirtxml.StorageVolumeBackingStore{Path: below.Path(), Format: &libvirtxml.StorageVolumeTargetFormat{Type: DiskFormat(below)}}
}

// DiskFormat returns the format that a machine takes a volume for: "qcow2" or "raw". libvirt looks at how a file begins, and calls
// "iso" or "luks" what is a raw disk to a machine.
func DiskFormat(v *hypervisor.Volume) string {
	switch format := v.Format(); format {
	case "iso", "luks", "bochs", "cloop", "dmg", "parallels", "dir", "none", "unknown":
		return "raw"
	default:
		return format
	}
}

// newVolume returns a volume as the hypervisor has it. A part of a GiB does not count, so that growing to the configured size is
// still to be done.
func newVolume(v *hypervisor.Volume) Volume {
	return Volume{Pool: v.Pool, Name: v.Name(), Format: DiskFormat(v), SizeGiB: int64(v.Capacity() / gib), Image: v.Backing(), Path: v.Path()}
}
