package hypervisor

import (
	"testing"

	"libvirt.org/go/libvirtxml"
)

// After a connection that broke in the middle of a create, what has the name is taken for the volume only where it may be it.
func TestAVolumeThatSomebodyMadeMeanwhileIsNotTheOneThatWasAskedFor(t *testing.T) {
	t.Parallel()
	volume := func(bytes uint64, backing string) *libvirtxml.StorageVolume {
		v := &libvirtxml.StorageVolume{Capacity: &libvirtxml.StorageVolumeSize{Value: bytes}}
		if backing != "" {
			v.BackingStore = &libvirtxml.StorageVolumeBackingStore{Path: backing}
		}
		return v
	}
	asked := volume(1<<30, "/base")
	for name, c := range map[string]struct {
		found *libvirtxml.StorageVolume
		want  bool
	}{
		"it":               {volume(1<<30, "/base"), true},
		"of whole extents": {volume(1<<30+4<<20, "/base"), true},
		"another size":     {volume(2<<30, "/base"), false},
		"a smaller one":    {volume(1<<20, "/base"), false},
		"another image":    {volume(1<<30, "/other"), false},
		"without one":      {volume(1<<30, ""), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := (&Volume{XML: *c.found}).isAsAsked(asked); got != c.want {
				t.Errorf("it is: %t", got)
			}
		})
	}
	if !(&Volume{XML: *volume(1<<30, "")}).isAsAsked(&libvirtxml.StorageVolume{Capacity: &libvirtxml.StorageVolumeSize{Unit: "GiB", Value: 1}}) {
		t.Error("sizes of other units are not compared")
	}
}
