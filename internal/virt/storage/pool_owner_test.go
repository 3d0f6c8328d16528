package storage

import (
	"testing"

	"libvirt.org/go/libvirtxml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
)

func TestUUIDTellsWhoseThePoolIs(t *testing.T) {
	pool := func(name, uuid, path string) *hypervisor.Pool {
		return &hypervisor.Pool{XML: libvirtxml.StoragePool{Name: name, UUID: uuid, Target: &libvirtxml.StoragePoolTarget{Path: path}}}
	}
	for _, c := range []struct {
		name string
		pool *hypervisor.Pool
		want poolMark
	}{
		{"made with its directory", pool("okd", buildPoolUUID("okd", "/srv/okd/", made, "here"), "/srv/okd"), poolMark{true, true, true, true}},
		{"directory adopted", pool("okd", buildPoolUUID("okd", "/srv/okd", adopted, "here"), "/srv/okd"), poolMark{true, false, true, true}},
		{"another workspace's", pool("okd", buildPoolUUID("okd", "/srv/okd", made, "there"), "/srv/okd"), poolMark{true, true, false, true}},
		{"of nobody knows which workspace", pool("okd", buildPoolUUID("okd", "/srv/okd", made, ""), "/srv/okd"), poolMark{true, true, false, true}},
		{"made before marks named a workspace", pool("okd", buildUnplacedPoolUUID("okd", "/srv/okd", made), "/srv/okd"), poolMark{true, true, false, false}},
		{"adopted before", pool("okd", buildUnplacedPoolUUID("okd", "/srv/okd", adopted), "/srv/okd"), poolMark{true, false, false, false}},
		{"moved by hand", pool("okd", buildPoolUUID("okd", "/srv/okd", made, "here"), "/home"), poolMark{}},
		{"someone else's", pool("okd", "7a3c1b0e-5d7c-4f6e-9a0f-2f7b8f1c0d11", "/srv/okd"), poolMark{}},
	} {
		if got := readPoolMark(c.pool, "here"); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
	if readPoolMark(pool("okd", buildPoolUUID("okd", "/srv/okd", made, ""), "/srv/okd"), "").Workspace {
		t.Error("two runs that do not know where they are take each other's pools")
	}
	if got := buildUnplacedPoolUUID("okd", "/srv/okd", made); got != "a5587279-a5ed-80a1-a873-1664b42acea5" {
		t.Errorf("the mark is in people's hypervisors and must never change: %s", got)
	}
	if got := buildPoolUUID("okd", "/srv/okd", made, "0123456789abcdef"); got != "df821289-026e-8b64-83f1-824d3aadb60c" {
		t.Errorf("the mark is in people's hypervisors and must never change: %s", got)
	}
	if got := buildPoolUUID("taken", "/var/lib/libvirt/taken", adopted, "elsewhere"); got != "93f95de7-27ee-809b-8235-993962bd34ea" {
		t.Errorf("the mark is in a test of virtcluster_storage_pool: %s", got)
	}
}
