package rollout

import (
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/sshhost"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
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

// TestAMachineThatIsMadeAnewElsewhereTakesItsTurnUp makes a machine on another hypervisor than the one that it was removed from: what keeps its
// place is there, and what is drained still is noted where the machine is.
func TestAMachineThatIsMadeAnewElsewhereTakesItsTurnUp(t *testing.T) {
	t.Parallel()
	was, is := newClient(t, "test:///was"), newClient(t, "test:///is")
	p, begin := newGroup(t, 1, "a", "n")
	p.members["n"].at = is
	turns := &Turns{}
	left := begin(owner.BeginRun(), turns, "n")
	left.at, left.own, left.place = was, "", "place"
	p.members["place"] = &member{name: "n", at: was, place: "place", workspace: owner.Workspace(), ticket: &ticket{ID: "i"}}
	s := NewStore(nil, is, &machine.Spec{Name: "n", Settings: machine.Settings{Rollout: left.settings}}, Surroundings{Turns: turns, Successor: "n", Hypervisors: map[string]*hypervisor.Client{"was": was, "is": is}})

	if place, err := s.findPlace(t.Context(), p); err != nil || place == nil || place.place != "place" {
		t.Errorf("its place is %+v, %v", place, err)
	}
	p.members["elsewhere"] = p.members["place"]
	p.members["place"] = &member{name: "n", at: is, place: "here", workspace: owner.Workspace(), ticket: &ticket{ID: "j"}}
	if place, err := s.findPlace(t.Context(), p); err != nil || place == nil || place.place != "here" {
		t.Errorf("with one where it is, its place is %+v, %v", place, err)
	}

	turns.leaveOpen("n", left)
	k, err := s.takeUp(t.Context())
	if err != nil || k != left || p.written["place"] != was {
		t.Fatalf("it takes up %v, %v", k, err)
	}
	k.own, k.drained = "n", serverSet{"ssh://root@lb": {{Backend: "api", Name: "n"}}}
	k.endTurn(t.Context())
	if left := p.members["n"].ticket; left == nil || p.written["n"] != is || p.members["place"] != nil {
		t.Errorf("it is noted as %v at %v", left, p.written["n"])
	}
}

func TestAMachineIsMadeWhileAnotherHypervisorCannotBeReached(t *testing.T) {
	t.Parallel()
	own, other, down := newClient(t, "test:///own"), newClient(t, "test:///other"), newClient(t, "test:///down")
	s := NewStore(nil, own, &machine.Spec{Name: "n", Settings: machine.Settings{Rollout: &machine.Rollout{Group: "g"}}},
		Surroundings{Hypervisors: map[string]*hypervisor.Client{"down": down, "other": other, "own": own}})
	for name, c := range map[string]struct {
		places      []*hypervisor.Client
		unreachable *hypervisor.Client
		want        *hypervisor.Client
		fails       bool
	}{
		"nothing keeps its place":              {nil, down, nil, false},
		"its own hypervisor does":              {[]*hypervisor.Client{own, other}, down, own, false},
		"another one does":                     {[]*hypervisor.Client{other}, down, other, false},
		"its own hypervisor cannot be reached": {[]*hypervisor.Client{other}, own, nil, true},
		"a place that is where nobody looks":   {[]*hypervisor.Client{down}, down, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, _ := newGroup(t, 1, "a")
			p.unreachable = []*hypervisor.Client{c.unreachable}
			for _, at := range c.places {
				p.members[at.URI()] = &member{name: "n", at: at, place: at.URI(), workspace: owner.Workspace(), ticket: &ticket{ID: "i"}}
			}
			place, err := s.findPlace(t.Context(), p)
			if c.fails != (err != nil) || (place != nil) != (c.want != nil) || place != nil && place.at != c.want {
				t.Errorf("its place is %+v, %v", place, err)
			}
		})
	}
}
