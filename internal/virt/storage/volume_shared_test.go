package storage

import (
	"testing"

	"libvirt.org/go/libvirtxml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
)

func TestVolumesThatAnotherHypervisorHasToo(t *testing.T) {
	t.Parallel()
	export := func(name, at, from string) *hypervisor.Pool {
		return asPool(Pool{Type: NetFS, Name: name, Path: at, Source: &PoolSource{Hosts: []string{"10.0.0.5"}, Path: from}})
	}
	group := func(name string) *hypervisor.Pool {
		return asPool(Pool{Type: Logical, Name: name, Path: "/dev/vg0", Source: &PoolSource{Name: "vg0"}})
	}
	volume := func(pool, name, path, key string) *hypervisor.Volume {
		return &hypervisor.Volume{Pool: pool, XML: libvirtxml.StorageVolume{Name: name, Key: key, Target: &libvirtxml.StorageVolumeTarget{Path: path}}}
	}
	for name, c := range map[string]struct {
		pool   *hypervisor.Pool
		volume *hypervisor.Volume
		there  survey
		paths  []string
	}{
		"a stopped pool of the export":       {export("e", "/mnt/a", "/srv"), volume("e", "v", "/mnt/a/v", ""), survey{pools: []*hypervisor.Pool{export("o", "/mnt/b", "/srv")}}, []string{"/mnt/b/v", "/mnt/a/v"}},
		"an export mounted without a pool":   {export("e", "/mnt/a", "/srv"), volume("e", "v", "/mnt/a/v", ""), survey{}, []string{"/mnt/a/v"}},
		"another export in that directory":   {export("e", "/mnt/a", "/srv"), volume("e", "v", "/mnt/a/v", ""), survey{pools: []*hypervisor.Pool{export("e", "/mnt/a", "/other")}}, nil},
		"a volume of a group that both have": {group("g"), volume("g", "v", "/dev/vg0/v", "id"), survey{pools: []*hypervisor.Pool{group("h")}, volumes: []*hypervisor.Volume{volume("h", "v", "/dev/vg0/v", "id")}}, []string{"/dev/vg0/v"}},
		"a group of the same name":           {group("g"), volume("g", "v", "/dev/vg0/v", "id"), survey{pools: []*hypervisor.Pool{group("g")}, volumes: []*hypervisor.Volume{volume("g", "v", "/dev/vg0/v", "other")}}, nil},
		"a directory of its own":             {asPool(Pool{Type: PoolType, Name: "d", Path: "/d"}), volume("d", "v", "/d/v", "/d/v"), survey{volumes: []*hypervisor.Volume{volume("d", "v", "/d/v", "/d/v")}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			here := survey{pools: []*hypervisor.Pool{c.pool}, volumes: []*hypervisor.Volume{c.volume}}
			same := c.there.findSame(here, []*hypervisor.Volume{c.volume})
			if len(same) != len(c.paths) {
				t.Fatalf("they are %+v", same)
			}
			for i, v := range same {
				if v.Path() != c.paths[i] {
					t.Errorf("it is at %s, not %s", v.Path(), c.paths[i])
				}
			}
		})
	}
}

// asPool is a pool as libvirt has it.
func asPool(p Pool) *hypervisor.Pool {
	definition := p.newDefinition()
	return &hypervisor.Pool{XML: *definition, Config: *definition, Active: true}
}
