package machine

import (
	"testing"

	"libvirt.org/go/libvirtxml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
)

func TestAnAttachedVolumeKeepsItsSpelling(t *testing.T) {
	t.Parallel()
	s := &Store{cache: &HypervisorCache{}}
	know := func(spelled, path string) {
		_, err := askOnce(s.cache, question{s.client, "volume", spelled}, func() (*hypervisor.Volume, error) {
			return &hypervisor.Volume{XML: libvirtxml.StorageVolume{Target: &libvirtxml.StorageVolumeTarget{Path: path}}}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	know("/srv//base", "/srv/base")
	know("/dev/disk/by-id/lun", "/dev/sdb")
	for name, c := range map[string]struct{ known, path, want string }{
		"nothing is known":      {"", "/srv/base", "/srv/base"},
		"the same":              {"/srv/base", "/srv/base", "/srv/base"},
		"spelled otherwise":     {"/srv//base", "/srv/base", "/srv//base"},
		"the device by its id":  {"/dev/disk/by-id/lun", "/dev/sdb", "/dev/disk/by-id/lun"},
		"another one by now":    {"/srv//base", "/srv/other", "/srv/other"},
		"another device by now": {"/dev/disk/by-id/lun", "/dev/sdc", "/dev/sdc"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := s.spellVolume(t.Context(), c.known, c.path); got != c.want {
				t.Errorf("%s at %s is spelled %s", c.known, c.path, got)
			}
		})
	}
}
