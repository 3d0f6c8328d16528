package storagepool

import (
	"testing"

	"libvirt.org/go/libvirtxml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
)

func TestParsePlace(t *testing.T) {
	for id, want := range map[string]Place{
		"default/disk.qcow2":     {Pool: "default", Name: "disk.qcow2"},
		"kvm1/default/disk":      {Hypervisor: "kvm1", Pool: "default", Name: "disk"},
		"/var/lib/libvirt/x/y.z": {Path: "/var/lib/libvirt/x/y.z"},
	} {
		if got, err := ParsePlace(id); err != nil || got != want {
			t.Errorf("ParsePlace(%q) = %+v, %v; want %+v", id, got, err, want)
		}
	}
	for _, id := range []string{"", "disk", "default/", "a//b", "a/b/c/d"} {
		if got, err := ParsePlace(id); err == nil {
			t.Errorf("ParsePlace(%q) = %+v, want an error", id, got)
		}
	}
}

func TestUUIDTellsWhoseThePoolIs(t *testing.T) {
	pool := func(name, uuid, path string) *hypervisor.Pool {
		return &hypervisor.Pool{XML: libvirtxml.StoragePool{Name: name, UUID: uuid, Target: &libvirtxml.StoragePoolTarget{Path: path}}}
	}
	for _, c := range []struct {
		name            string
		pool            *hypervisor.Pool
		mine, directory bool
	}{
		{"made with its directory", pool("okd", mark("okd", "/srv/okd/", made), "/srv/okd"), true, true},
		{"directory adopted", pool("okd", mark("okd", "/srv/okd", adopted), "/srv/okd"), true, false},
		{"moved by hand", pool("okd", mark("okd", "/srv/okd", made), "/home"), false, false},
		{"someone else's", pool("okd", "7a3c1b0e-5d7c-4f6e-9a0f-2f7b8f1c0d11", "/srv/okd"), false, false},
	} {
		if mine, directory := ours(c.pool); mine != c.mine || directory != c.directory {
			t.Errorf("%s: ours %t, directory ours %t", c.name, mine, directory)
		}
	}
	if got := mark("okd", "/srv/okd", made); got != "a5587279-a5ed-80a1-a873-1664b42acea5" {
		t.Errorf("the mark is in people's hypervisors and must never change: %s", got)
	}
}
