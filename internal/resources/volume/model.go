package volume

import (
	"path"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/types"
	"libvirt.org/go/libvirtxml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
)

// gib is one gibibyte, the unit of size_gib.
const gib = 1 << 30

type model struct {
	ID         types.String `tfsdk:"id"`
	Name       types.String `tfsdk:"name"`
	Hypervisor types.String `tfsdk:"hypervisor"`
	Pool       types.String `tfsdk:"pool"`
	SizeGiB    types.Int64  `tfsdk:"size_gib"`
	Format     types.String `tfsdk:"format"`
	Image      types.String `tfsdk:"image"`
}

// bytes is the wanted capacity; an unknown or absent size is that of the image, in whole GiB.
func (m *model) bytes(image *hypervisor.Volume) uint64 {
	if n := m.SizeGiB.ValueInt64(); n > 0 {
		return uint64(n) * gib
	}
	if image == nil {
		return 0
	}
	return ceilGiB(image.Capacity()) * gib
}

// ceilGiB is the least number of whole GiB that holds so many bytes.
func ceilGiB(bytes uint64) uint64 { return (bytes + gib - 1) / gib }

// definition is what libvirt is asked to make.
func (m *model) definition(image *hypervisor.Volume) *libvirtxml.StorageVolume {
	v := &libvirtxml.StorageVolume{
		Name:       m.Name.ValueString(),
		Capacity:   &libvirtxml.StorageVolumeSize{Unit: "bytes", Value: m.bytes(image)},
		Allocation: &libvirtxml.StorageVolumeSize{Unit: "bytes", Value: 0},
		Target:     &libvirtxml.StorageVolumeTarget{Format: &libvirtxml.StorageVolumeTargetFormat{Type: m.Format.ValueString()}},
	}
	if image != nil {
		v.BackingStore = &libvirtxml.StorageVolumeBackingStore{
			Path: image.Path(), Format: &libvirtxml.StorageVolumeTargetFormat{Type: image.Format()},
		}
	}
	return v
}

// fill writes what the hypervisor says into the model. A part of a GiB does not count, so that growing to the
// configured size is still to be done.
func (m *model) fill(v *hypervisor.Volume) {
	m.ID = types.StringValue(v.Path())
	m.Name = types.StringValue(v.Name())
	m.Pool = types.StringValue(v.Pool)
	m.Format = types.StringValue(v.Format())
	m.SizeGiB = types.Int64Value(int64(v.Capacity() / gib))
	switch backing := v.Backing(); {
	case backing == "":
		m.Image = types.StringNull()
	case imagePath(m.Image.ValueString(), v.Path()) != backing:
		m.Image = types.StringValue(backing)
	}
}

// imagePath is the path that an `image` means: it is a path itself, or a name in the volume's own pool.
func imagePath(image, volumePath string) string {
	if image == "" || strings.HasPrefix(image, "/") {
		return image
	}
	return path.Join(path.Dir(volumePath), image)
}
