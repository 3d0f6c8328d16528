package storage

import (
	"testing"

	"libvirt.org/go/libvirtxml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
)

func TestAPoolsDefinitionSaysWhoseItIs(t *testing.T) {
	m := owner.Mark{ID: "abc", Workspace: "0123", Creating: "1.2"}
	var noted libvirtxml.StoragePool
	notePool(&noted, m, made)
	text, err := noted.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		xml       string
		mark      owner.Mark
		directory bool
	}{
		"its own":           {text, m, true},
		"a person's":        {"<pool type='dir'><name>okd</name></pool>", owner.Mark{}, false},
		"of another maker":  {"<pool type='iscsi'><source><vendor name='Acme'/><product name='directory made'/></source></pool>", owner.Mark{}, false},
		"directory adopted": {"<pool type='dir'><source><vendor name='virtcluster owner=abc'/><product name='directory adopted'/></source></pool>", owner.Mark{ID: "abc"}, false},
		"without a product": {"<pool type='dir'><source><vendor name='virtcluster owner=abc'/></source></pool>", owner.Mark{ID: "abc"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			var p hypervisor.Pool
			if err := p.Config.Unmarshal(c.xml); err != nil {
				t.Fatal(err)
			}
			if got := readPoolMark(&p); got != c.mark || hasMadeDirectory(&p) != c.directory {
				t.Errorf("it is of %v, with its directory: %t", got, hasMadeDirectory(&p))
			}
		})
	}
}
