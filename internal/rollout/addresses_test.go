package rollout

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/hosttest"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/keepalived"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/machine"
)

// serviceMachine is a machine with an instance of a virtual address, which it holds or not.
func serviceMachine(t *testing.T, priority int, holds bool) *hosttest.Host {
	t.Helper()
	h := hosttest.New()
	address := "10.0.0.1"
	if holds {
		address = "10.0.0.250"
	}
	h.On(hosttest.Answer(fmt.Sprintf(`[{"ifname": "eth0", "addr_info": [{"local": %q, "prefixlen": 24}]}]`, address), 0, ""), "ip", "-json", "address", "show")
	if priority == 0 {
		return h
	}
	tree := transaction.Tree{}
	err := keepalived.Set(tree, keepalived.Instance{
		Name: "vip", Interface: "eth0", State: "BACKUP", RouterID: 1, Version: 2, AdvertInterval: 1, Priority: priority, Unicast: true,
		Addresses: []netip.Prefix{netip.MustParsePrefix("10.0.0.250/24")}, Source: netip.MustParseAddr("10.0.0.1"), Peers: []netip.Addr{netip.MustParseAddr("10.0.0.2")},
	})
	if err != nil {
		t.Fatal(err)
	}
	h.Put(keepalived.Path, string(tree[keepalived.Path].Content))
	return h
}

// Who takes the virtual addresses of a service node over is who has some, or else who is the first to have them.
func TestTheHeirOfAServiceNodeIsWhoHoldsAddressesOrMayFirst(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		// others are the other members: their priority, 0 without keepalived.
		others map[string]int
		holds  []string
		stands string
		want   string
	}{
		"the other of a pair":            {map[string]int{"b": 90}, nil, "", "b"},
		"the higher one of two":          {map[string]int{"b": 90, "c": 95}, nil, "", "c"},
		"the one that holds some":        {map[string]int{"b": 90, "c": 95}, []string{"b"}, "", "b"},
		"several hold some":              {map[string]int{"b": 90, "c": 95}, []string{"b", "c"}, "", ""},
		"it has no keepalived":           {map[string]int{"b": 0}, nil, "", ""},
		"the other one does not run":     {map[string]int{"b": 90}, nil, "b", ""},
		"nobody else is in the group":    {nil, nil, "", ""},
		"a lower one is there beside it": {map[string]int{"b": 90, "c": 95}, nil, "c", "b"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			names, hosts := []string{"a"}, map[string]*hosttest.Host{}
			for other, priority := range c.others {
				names = append(names, other)
				hosts[other] = serviceMachine(t, priority, slices.Contains(c.holds, other))
			}
			p, begin := newGroup(t, 1, names...)
			for _, m := range p.members {
				m.settings = &machine.Rollout{Group: "g", ServiceNode: &machine.TurnServiceNode{Endpoint: "ssh://" + m.name}}
				m.running = m.name != c.stands
			}
			turn := begin(nil, nil, "a")
			turn.ticket.ID = "of a"
			p.members["a"].ticket = &ticket{ID: "of a"}
			s := &Store{in: Surroundings{Host: func(_ context.Context, endpoint string) (host.Host, error) {
				e, err := host.ParseEndpoint(endpoint)
				return hosts[e.Host], err
			}}}
			heir, err := s.findHeir(t.Context(), turn)
			if err != nil {
				t.Fatal(err)
			}
			if got, _ := heir.(*hosttest.Host); got != hosts[c.want] {
				t.Errorf("it is %v", heir)
			}
		})
	}
}

// A service node that cannot be asked leaves the turn without an heir: the addresses move by the priorities.
func TestAnHeirThatCannotBeAskedIsNone(t *testing.T) {
	t.Parallel()
	p, begin := newGroup(t, 1, "a", "b")
	for _, m := range p.members {
		m.settings = &machine.Rollout{Group: "g", ServiceNode: &machine.TurnServiceNode{Endpoint: "ssh://" + m.name}}
	}
	turn := begin(nil, nil, "a")
	turn.settings = p.members["a"].settings
	turn.ticket.ID = "of a"
	p.members["a"].ticket = &ticket{ID: "of a"}
	s := &Store{in: Surroundings{Host: func(context.Context, string) (host.Host, error) { return nil, errDown }}}
	if s.liftHeir(t.Context(), turn); turn.heir != nil {
		t.Errorf("it is %v", turn.heir)
	}
}

// namedMachine is a machine that is not called as all others are.
type namedMachine struct {
	*hosttest.Host
	name string
}

func (m namedMachine) String() string { return m.name }

// A guest that handed over its addresses, and whose agent does not answer when it serves again, keeps the next one from handing over its own only
// where it was not started anew: then it may stay behind still, and nobody would have them.
func TestAGuestThatWasStartedAnewLetsTheNextOneHandOver(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answers, moved bool
		successor      string
		next           bool
	}{
		"it answers":             {answers: true, next: true},
		"it moved, and answers":  {answers: true, moved: true, next: true},
		"it was started anew":    {next: true},
		"it was made anew there": {moved: true, successor: "one", next: true},
		"it moved while it ran":  {moved: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				one, next := namedMachine{serviceMachine(t, 120, true), "one"}, namedMachine{serviceMachine(t, 110, true), "next"}
				one.On(hosttest.Answer("", 0, ""), "sh")
				next.On(hosttest.Answer("", 0, ""), "sh")
				var over keepalived.HandOvers
				turn := &turn{name: "one", handedOver: "one"}
				if c.moved {
					turn.arrived = &hypervisor.Client{}
				}
				if left, err := over.Leave(t.Context(), one, false); !left || err != nil {
					t.Fatalf("it does not leave: %v", err)
				}
				if left, err := over.Leave(t.Context(), next, false); left || err != nil {
					t.Fatalf("both leave: %v", err)
				}
				s := &Store{known: &machine.Spec{Name: "one", Settings: machine.Settings{Rollout: &machine.Rollout{}}}, in: Surroundings{
					HandOvers: &over, Successor: c.successor,
					Temporary: func(error) (again, brief bool) { return false, false },
					Host: func(context.Context, string) (host.Host, error) {
						if c.answers {
							return one, nil
						}
						return nil, errDown
					},
				}}
				s.takePart(t.Context(), turn)
				if left, err := over.Leave(t.Context(), next, false); left != c.next || err != nil {
					t.Errorf("the next one leaves: %t, %v", left, err)
				}
			})
		})
	}
}

// A guest that hands over its addresses to one that nobody lifted stays for the time between two advertisements, in which that one takes them.
func TestAGuestStaysUntilAnotherOneHasItsAddresses(t *testing.T) {
	t.Parallel()
	const holds = 2 * time.Second // how long this one is seen to hold them, as it never ends to
	for lifted, want := range map[bool]time.Duration{true: holds, false: holds + time.Second} {
		t.Run(fmt.Sprint(lifted), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				h := serviceMachine(t, 120, true)
				h.On(hosttest.Answer("", 0, ""), "sh")
				var over keepalived.HandOvers
				began := time.Now()
				if left, err := over.Leave(t.Context(), h, lifted); !left || err != nil || time.Since(began) != want {
					t.Errorf("it leaves: %t, %v, after %s", left, err, time.Since(began))
				}
			})
		})
	}
}
