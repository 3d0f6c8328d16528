package rollout

import (
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/sshhost"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/machine"
)

func newClient(t *testing.T, uri string) *hypervisor.Client {
	t.Helper()
	c, err := hypervisor.New(uri, sshhost.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestATurnOfAMachineThatMovesBeginsWhereItIs(t *testing.T) {
	t.Parallel()
	all := map[string]*hypervisor.Client{"one": newClient(t, "test:///one"), "two": newClient(t, "test:///two")}
	s := NewStore(nil, all["two"], &machine.Spec{Name: "n", Hypervisor: "two"}, Surroundings{Hypervisors: all})
	for name, c := range map[string]struct {
		was  string
		want *hypervisor.Client
	}{
		"it moves":                          {"one", all["one"]},
		"it stays":                          {"two", all["two"]},
		"from a hypervisor that is unknown": {"three", all["two"]},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := s.storeBefore(&machine.Spec{Name: "n", Hypervisor: c.was})
			if before.at != c.want || before.known.Name != "n" || (before == s) != (c.want == all["two"]) {
				t.Errorf("its turn begins at %s", before.at.URI())
			}
			if before != s && (before.known.Hypervisor != c.was || s.known.Hypervisor != "two") {
				t.Errorf("it is known to be on %s, and there is %s", before.known.Hypervisor, s.known.Hypervisor)
			}
		})
	}
}
