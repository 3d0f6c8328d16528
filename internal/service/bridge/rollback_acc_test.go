package bridge_test

import (
	"context"
	"errors"
	"net/netip"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/fleet"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/hosttest"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/localhost"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/sshhost"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/bridge"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/hostnet"
)

// cutOff is a machine whose connection is lost as soon as its network was changed.
func cutOff(h host.Host) *hosttest.CutOff { return hosttest.NewCutOff(h, "change the network") }

// cutOffMachine is a machine whose bridge is changed, and that goes back to what it had.
type cutOffMachine struct {
	name  string
	fleet *fleet.Fleet
	claim owner.Claim
}

func (m cutOffMachine) host(t *testing.T) host.Host {
	t.Helper()
	h, err := m.fleet.Host(t.Context(), acctest.Endpoint(m.name))
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func (m cutOffMachine) fresh(ctx context.Context) (host.Host, error) {
	return m.fleet.FreshHost(ctx, acctest.Endpoint(m.name))
}

func (m cutOffMachine) open(h host.Host, fresh func(context.Context) (host.Host, error)) *bridge.Store {
	return bridge.Open(hostnet.Site{Host: h, Fresh: fresh}, "accbr0", "accbr0", m.claim)
}

// settles waits until the machine is as before, for some time at most.
func (m cutOffMachine) settles(t *testing.T, before string, within time.Duration) {
	t.Helper()
	began := time.Now()
	for acctest.NetworkOf(t, m.name) != before {
		if time.Since(began) > within {
			told := acctest.On(t, m.name, "journalctl", "--no-pager", "--output=short-precise", "--lines=60")
			t.Fatalf("after %s the machine has\n%s\nbefore:\n%s\nits journal:\n%s", within, acctest.NetworkOf(t, m.name), before, told)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// isCutOff wants the provider, which reaches the machine no more by a new connection, to put it back at once.
func (m cutOffMachine) isCutOff(t *testing.T, change func(*bridge.Store) error, before string) {
	t.Helper()
	refused := func(context.Context) (host.Host, error) { return nil, errors.New("connection refused") }
	if err := change(m.open(m.host(t), refused)); err == nil || !strings.Contains(err.Error(), "what it had before") {
		t.Fatalf("without a new connection: %v", err)
	}
	m.settles(t, before, 20*time.Second)
}

// isKilled wants the machine to go back by itself when its time is over.
func (m cutOffMachine) isKilled(t *testing.T, change func(*bridge.Store) error, before string) {
	t.Helper()
	lost := cutOff(m.host(t))
	if err := change(m.open(lost, func(context.Context) (host.Host, error) { return lost, nil })); err == nil || !strings.Contains(err.Error(), "by itself") {
		t.Fatalf("killed: %v", err)
	}
	m.settles(t, before, 2*rollback)
	took := time.Since(lost.Ran["arm the rollback"])
	t.Logf("back %s after the change was armed", took.Round(100*time.Millisecond))
	// The provider asks until then what became of the change, and a busy machine may take some time to be looked at.
	if took > rollback+6*time.Second {
		t.Errorf("that is more than the rollback_timeout of %s", rollback)
	}
}

// restarts wants a machine that starts in mid-change to come up as it was.
func (m cutOffMachine) restarts(t *testing.T, change func(*bridge.Store) error, before string) {
	t.Helper()
	lost := cutOff(m.host(t))
	reset := func(context.Context) (host.Host, error) {
		acctest.Reboot(t, m.name)
		return nil, errors.New("connection reset")
	}
	if err := change(m.open(lost, reset)); err == nil {
		t.Fatal("a machine that starts again in between is taken for changed")
	}
	m.settles(t, before, 20*time.Second)
}

// cutOffs are the changes of a bridge that are cut off, each with and without the provider's end: five managers' ways to keep it, and
// four changes.
const cutOffs = 20

// rollback is the bridges' rollback_timeout.
const rollback = 8 * time.Second

func TestAccCutOffMachineGoesBackWhateverKeepsItsNetwork(t *testing.T) {
	acctest.InSandbox(t)
	f := fleet.New(fleet.Config{SSH: sshhost.Options{PrivateKeyFile: os.Getenv("SANDBOX_SSH_KEY")}})
	var alive, killed atomic.Int32
	t.Cleanup(func() {
		_ = f.Close()
		t.Logf("%d changes were cut off with the provider alive, %d with its end", alive.Load(), killed.Load())
		if alive.Load() < cutOffs || killed.Load() < cutOffs {
			t.Errorf("at least %d of each are to be cut off", cutOffs)
		}
	})
	for _, backend := range []string{hostnet.Networkd, hostnet.NetworkManager, hostnet.Ifupdown, hostnet.Netplan, hostnet.Runtime} {
		t.Run(backend, func(t *testing.T) {
			m := cutOffMachine{name: acctest.TakeMachine(t), fleet: f, claim: new(owner.Run).New()}
			inherited := bridge.Bridge{Name: "accbr0", Interfaces: []string{"eth1"}, Inherit: true, Backend: hostnet.Auto, RollbackTimeout: rollback}
			manager := backend
			if backend == hostnet.Runtime {
				manager, inherited.Backend = hostnet.Networkd, backend
			}
			acctest.LeaveToManager(t, m.name, manager)
			listed := inherited
			listed.Inherit, listed.Addresses = false, []netip.Prefix{netip.MustParsePrefix(acctest.OnLAN(m.name, 181) + "/24")}
			for _, change := range []struct {
				name string
				run  func(s *bridge.Store) error
			}{
				{"create", func(s *bridge.Store) error { _, err := s.Create(t.Context(), inherited); return err }},
				{"update", func(s *bridge.Store) error { _, err := s.Update(t.Context(), inherited, listed); return err }},
				{"update back", func(s *bridge.Store) error { _, err := s.Update(t.Context(), listed, inherited); return err }},
				{"delete", func(s *bridge.Store) error { return s.Delete(t.Context()) }},
			} {
				t.Run(change.name, func(t *testing.T) {
					before := acctest.NetworkOf(t, m.name)
					m.isCutOff(t, change.run, before)
					alive.Add(1)
					m.isKilled(t, change.run, before)
					killed.Add(1)
					// A start takes back whatever change in the same way: one manager shows that, the others by what has files before and after.
					// What nothing keeps no start brings back.
					if backend == hostnet.Networkd || backend != hostnet.Runtime && change.name == "update" {
						m.restarts(t, change.run, before)
					}
					// A busy machine may be reached by a new connection too late for its rollback_timeout, and goes back then.
					err := change.run(m.open(m.host(t), m.fresh))
					for try := 0; try < 2 && err != nil && strings.Contains(err.Error(), "what it had before"); try++ {
						m.settles(t, before, 20*time.Second)
						err = change.run(m.open(m.host(t), m.fresh))
					}
					if err != nil {
						t.Fatalf("and then: %v", err)
					}
				})
			}
		})
	}
}

// TestAccChangeAfterAKilledOneStays has an apply follow one that was killed while its change was armed: the first one's roll-back takes
// nothing of the second one's back.
func TestAccChangeAfterAKilledOneStays(t *testing.T) {
	acctest.InSandbox(t)
	f := fleet.New(fleet.Config{SSH: sshhost.Options{PrivateKeyFile: os.Getenv("SANDBOX_SSH_KEY")}})
	t.Cleanup(func() { _ = f.Close() })
	m := cutOffMachine{name: acctest.TakeMachine(t), fleet: f, claim: new(owner.Run).New()}
	acctest.LeaveToManager(t, m.name, hostnet.Networkd)
	inherited := bridge.Bridge{Name: "accbr0", Interfaces: []string{"eth1"}, Inherit: true, Backend: hostnet.Auto, RollbackTimeout: rollback}
	before := acctest.NetworkOf(t, m.name)
	lost := cutOff(m.host(t))
	if _, err := m.open(lost, func(context.Context) (host.Host, error) { return lost, nil }).Create(t.Context(), inherited); err == nil {
		t.Fatal("the first change was not cut off")
	}
	if _, err := m.open(m.host(t), m.fresh).Create(t.Context(), inherited); err != nil {
		t.Fatal(err)
	}
	after := acctest.NetworkOf(t, m.name)
	if !strings.Contains(after, "accbr0") {
		t.Fatalf("there is no bridge:\n%s", after)
	}
	for deadline := time.Now().Add(rollback + 2*time.Second); time.Now().Before(deadline); time.Sleep(time.Second) {
		if got := acctest.NetworkOf(t, m.name); got != after {
			t.Fatalf("the machine has\n%s\nnot:\n%s", got, after)
		}
	}
	if err := m.open(m.host(t), m.fresh).Delete(t.Context()); err != nil {
		t.Fatal(err)
	}
	m.settles(t, before, 5*time.Second)
	if left, err := acctest.Try(t.Context(), m.name, "ls", "-A", "/var/lib/virtcluster/network"); err == nil && strings.TrimSpace(left) != "" {
		t.Errorf("left %s", left)
	}
}

// TestAccWhatAKilledRemovalTookAwayIsNotForgotten has a read follow a removal that was killed while its change was armed: the bridge is there
// again in a moment, so a state that forgot it would leave it behind.
func TestAccWhatAKilledRemovalTookAwayIsNotForgotten(t *testing.T) {
	acctest.InSandbox(t)
	f := fleet.New(fleet.Config{SSH: sshhost.Options{PrivateKeyFile: os.Getenv("SANDBOX_SSH_KEY")}})
	t.Cleanup(func() { _ = f.Close() })
	m := cutOffMachine{name: acctest.TakeMachine(t), fleet: f, claim: new(owner.Run).New()}
	acctest.LeaveToManager(t, m.name, hostnet.Networkd)
	before := acctest.NetworkOf(t, m.name)
	if _, err := m.open(m.host(t), m.fresh).Create(t.Context(), bridge.Bridge{Name: "accbr0", Interfaces: []string{"eth1"}, Inherit: true, Backend: hostnet.Auto, RollbackTimeout: rollback}); err != nil {
		t.Fatal(err)
	}
	// The other run dies when its change is made, and before it proves that the machine can be reached.
	other := fleet.New(fleet.Config{SSH: sshhost.Options{PrivateKeyFile: os.Getenv("SANDBOX_SSH_KEY")}})
	its, err := other.Host(t.Context(), acctest.Endpoint(m.name))
	if err != nil {
		t.Fatal(err)
	}
	died, gone := make(chan struct{}), sync.OnceValue(other.Close)
	var removal sync.WaitGroup
	removal.Go(func() {
		_ = m.open(its, func(context.Context) (host.Host, error) {
			if err := gone(); err == nil {
				select {
				case <-died:
				default:
					close(died)
				}
			}
			return nil, errors.New("this run is dead")
		}).Delete(t.Context())
	})
	defer removal.Wait()
	<-died
	if _, err := m.open(m.host(t), m.fresh).Get(t.Context()); err != nil {
		t.Errorf("after a killed removal: %v", err)
	}
	if err := m.open(m.host(t), m.fresh).Delete(t.Context()); err != nil {
		t.Fatal(err)
	}
	m.settles(t, before, 5*time.Second)
}

func TestAccBridgeThatLosesTheMachineIsRolledBack(t *testing.T) {
	inSandbox(t)
	before := network(t)
	for name, fresh := range map[string]func(context.Context) (host.Host, error){
		"no new connection":       func(context.Context) (host.Host, error) { return nil, errors.New("connection refused") },
		"a connection that hangs": func(ctx context.Context) (host.Host, error) { <-ctx.Done(); return nil, ctx.Err() },
	} {
		t.Run(name, func(t *testing.T) {
			s := site()
			s.Fresh = fresh
			if _, err := open(s, new(owner.Run).New()).Create(t.Context(), external()); err == nil || !strings.Contains(err.Error(), "what it had before") {
				t.Errorf("got %v", err)
			}
			if after := network(t); after != before {
				t.Errorf("after the rollback:\n%s\nbefore:\n%s", after, before)
			}
			reachable(t)
		})
	}
}

func TestAccMachineThatCannotBeReachedGoesBackByItself(t *testing.T) {
	inSandbox(t)
	before := network(t)
	lost := cutOff(localhost.New())
	made := false
	s := open(hostnet.Site{Host: lost, Fresh: func(context.Context) (host.Host, error) {
		made = made || network(t) != before
		return lost, nil
	}}, new(owner.Run).New())
	_, err := s.Create(t.Context(), external())
	if err == nil || !strings.Contains(err.Error(), "by itself") {
		t.Fatalf("got %v", err)
	}
	if !made {
		t.Fatal("the change was not made, so this proves nothing")
	}
	for deadline := time.Now().Add(10 * time.Second); network(t) != before; time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("still\n%s\nbefore:\n%s", network(t), before)
		}
	}
	reachable(t)
}
