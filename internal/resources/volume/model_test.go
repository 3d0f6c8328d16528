package volume

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/types"
	"libvirt.org/go/libvirtxml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
)

func overlay(bytes uint64, backing string) *hypervisor.Volume {
	v := &hypervisor.Volume{Pool: "okd", XML: libvirtxml.StorageVolume{
		Name: "v", Capacity: &libvirtxml.StorageVolumeSize{Value: bytes},
		Target: &libvirtxml.StorageVolumeTarget{Path: "/srv/okd/v", Format: &libvirtxml.StorageVolumeTargetFormat{Type: "qcow2"}},
	}}
	if backing != "" {
		v.XML.BackingStore = &libvirtxml.StorageVolumeBackingStore{Path: backing}
	}
	return v
}

func TestFillKeepsTheSpellingOfTheImage(t *testing.T) {
	for _, c := range []struct{ image, backing, want string }{
		{"", "", ""},
		{"base", "/srv/okd/base", "base"},
		{"/srv/okd/base", "/srv/okd/base", "/srv/okd/base"},
		{"base", "/elsewhere/base", "/elsewhere/base"},
		{"base", "", ""},
		{"", "/srv/okd/base", "/srv/okd/base"},
	} {
		m := model{Image: types.StringValue(c.image)}
		if c.image == "" {
			m.Image = types.StringNull()
		}
		m.fill(overlay(5<<30, c.backing))
		if m.Image.ValueString() != c.want {
			t.Errorf("image %q over %q reads as %q, want %q", c.image, c.backing, m.Image.ValueString(), c.want)
		}
	}
}

func TestSizesAreWholeGiB(t *testing.T) {
	var m model
	m.fill(overlay(5<<30+1, ""))
	if m.SizeGiB.ValueInt64() != 5 {
		t.Errorf("a part of a GiB counts: %s", m.SizeGiB)
	}
	if got := (&model{}).bytes(overlay(5<<30+1, "")); got != 6<<30 {
		t.Errorf("an image of 5 GiB and a byte gets a volume of %d bytes", got)
	}
	if got := (&model{SizeGiB: types.Int64Value(8)}).bytes(overlay(5<<30, "")); got != 8<<30 {
		t.Errorf("size_gib = 8 gives %d bytes", got)
	}
}
