package vip

import (
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/keepalived"
)

// TestAnUnmarkedInstanceIsOwnOnlyWhereAnImportFoundIt has a VIP that was imported without a mark look at instances of machines.
func TestAnUnmarkedInstanceIsOwnOnlyWhereAnImportFoundIt(t *testing.T) {
	t.Parallel()
	run := owner.BeginRun()
	imported := run.Adopt().Found(owner.Mark{})
	prior := keepalived.VIP{Name: "api", Members: []keepalived.Member{{Name: "a", ID: "ssh://a?host_key=uNi-ztksCsDhcc0_"}}}
	for name, c := range map[string]struct {
		serviceNode, instance string
		mark                  owner.Mark
		own                   bool
	}{
		"where it was found":                 {"ssh://a?host_key=uNi-ztksCsDhcc0_", "api", owner.Mark{}, true},
		"there, by another spelling":         {"ssh://a?host_key=uNi-ztksCsDhcc0_9e8BrrQXVUpKZIDTMczCvj3tD2s", "api", owner.Mark{}, true},
		"on a member that is added":          {"ssh://b", "api", owner.Mark{}, false},
		"by a name that it gets":             {"ssh://a?host_key=uNi-ztksCsDhcc0_", "ingress", owner.Mark{}, false},
		"its own mark, on another machine":   {"ssh://b", "api", imported.Mark(), true},
		"another's mark, where it was found": {"ssh://a?host_key=uNi-ztksCsDhcc0_", "api", owner.Mark{ID: "theirs"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			mine := OwnInstances(prior, imported.Owns)
			s := &Store{claim: imported}
			v := view{id: c.serviceNode, owners: map[string]owner.Mark{c.instance: c.mark}}
			if err := s.refuseForeign(v, mine, "api", "ingress"); (err == nil) != c.own {
				t.Errorf("the error is %v", err)
			}
		})
	}
}
