package rollout

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"libvirt.org/go/libvirtxml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/sshhost"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/haproxy"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/machine"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/metadata"
)

// TestMain has marks change, and be looked at, faster than in the world.
func TestMain(m *testing.M) {
	beatEvery, deadAfter, lookEvery = 20*time.Millisecond, 400*time.Millisecond, 2*time.Millisecond
	m.Run()
}

// paper is a board of members in memory, of one group; down says of those that do not serve why, and written where the ticket of each was written last.
type paper struct {
	mu      sync.Mutex
	members map[string]*member
	down    map[string]error
	written map[string]*hypervisor.Client
	// unreachable are the hypervisors that cannot be reached.
	unreachable []*hypervisor.Client
}

func (p *paper) listMembers(context.Context, string) ([]*member, error) {
	p.mu.Lock()
	names := slices.Collect(maps.Keys(p.members))
	p.mu.Unlock()
	all := make([]*member, 0, len(names))
	for _, name := range names { // one after the other, as of several hypervisors
		p.mu.Lock()
		copied := *p.members[name]
		if copied.ticket != nil {
			k := *copied.ticket
			copied.ticket = &k
		}
		p.mu.Unlock()
		all = append(all, &copied)
	}
	return all, nil
}

func (p *paper) listMembersAt(ctx context.Context, at *hypervisor.Client, group string) ([]*member, error) {
	if slices.Contains(p.unreachable, at) {
		return nil, fmt.Errorf("look for members: %w", &hypervisor.UnreachableError{URI: at.URI(), Err: errDown})
	}
	all, err := p.listMembers(ctx, group)
	return slices.DeleteFunc(all, func(m *member) bool { return m.at != at }), err
}

func (p *paper) writeTicket(_ context.Context, at *hypervisor.Client, name string, k *ticket) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	copied := *k
	p.members[name].ticket, p.written[name] = &copied, at
	return nil
}

func (p *paper) removeMarks(_ context.Context, _ *hypervisor.Client, name, place string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if name != "" {
		p.members[name].ticket = nil
	}
	delete(p.members, place)
	return nil
}

func (p *paper) askMember(_ context.Context, m *member) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.down[m.name]
}

func (p *paper) set(name string, why error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.down[name] = why
}

// newHypervisor returns a hypervisor that nobody connects to.
func newHypervisor(t *testing.T) *hypervisor.Client {
	t.Helper()
	c, err := hypervisor.New("test:///default", sshhost.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// newGroup returns a board of members, and how a run begins the turn of one of them.
func newGroup(t *testing.T, limit int64, names ...string) (*paper, func(run *owner.Run, turns *Turns, name string) *turn) {
	t.Helper()
	at, p := newHypervisor(t), &paper{members: map[string]*member{}, down: map[string]error{}, written: map[string]*hypervisor.Client{}}
	settings := &machine.Rollout{Group: "g", MaxUnavailable: limit}
	for _, name := range names {
		p.members[name] = &member{name: name, at: at, uuid: name, settings: settings, running: true}
	}
	return p, func(run *owner.Run, turns *Turns, name string) *turn {
		return &turn{board: p, turns: turns, run: run, settings: settings, name: name, at: at, own: name, parallelism: 100}
	}
}

var errDown = errors.New("no answer")

func TestNoMoreMembersAreDownThanTheGroupBears(t *testing.T) {
	for _, limit := range []int64{1, 2} {
		t.Run(fmt.Sprint(limit), func(t *testing.T) {
			var names []string
			for n := range 9 {
				names = append(names, fmt.Sprintf("m%d", n))
			}
			p, begin := newGroup(t, limit, names...)
			var runs sync.WaitGroup
			most := 0
			for n := range 3 { // three runs with three members each
				run, turns := owner.BeginRun(), &Turns{}
				for _, name := range names[3*n : 3*n+3] {
					runs.Go(func() {
						for range 5 {
							k := begin(run, turns, name)
							if err := k.awaitTurn(t.Context(), time.Minute); err != nil {
								t.Error(err)
								return
							}
							p.set(name, errDown)
							p.mu.Lock()
							now := 0 // with this one
							for _, why := range p.down {
								if why != nil {
									now++
								}
							}
							most = max(most, now)
							p.mu.Unlock()
							time.Sleep(3 * time.Millisecond)
							p.set(name, nil)
							k.endTurn(t.Context())
						}
					})
				}
			}
			runs.Wait()
			if most != int(limit) {
				t.Errorf("at most %d were down at one time, not %d", most, limit)
			}
		})
	}
}

func TestAMemberThatIsDownForAnotherReasonCounts(t *testing.T) {
	t.Parallel()
	p, begin := newGroup(t, 1, "a", "b", "c")
	p.set("b", errDown)
	turns, run := &Turns{}, owner.BeginRun()
	err := begin(run, turns, "a").awaitTurn(t.Context(), 50*time.Millisecond)
	late, ok := errors.AsType[*WaitError](err)
	if !ok || len(late.For) != 1 || late.For[0] != `node "b", which is not ready (no answer)` {
		t.Fatalf("it ended with %v", err)
	}
	if p.members["a"].ticket != nil {
		t.Error("the ticket of what gave up is left")
	}
	// What is down itself goes on: only its own turn may mend it.
	mends := begin(run, turns, "b")
	if err := mends.awaitTurn(t.Context(), time.Minute); err != nil {
		t.Errorf("what is down waits for itself: %v", err)
	}
	mends.endTurn(t.Context())
}

// One that serves waits for one that is down, and that one for the first, whose ticket came before.
func TestAMemberThatIsDownGoesFirst(t *testing.T) {
	t.Parallel()
	p, begin := newGroup(t, 1, "a", "b", "c")
	p.set("b", errDown)
	turns, run := &Turns{}, owner.BeginRun()
	first := make(chan error, 1)
	go func() { first <- begin(run, turns, "a").awaitTurn(t.Context(), time.Minute) }()
	time.Sleep(20 * time.Millisecond)
	b := begin(owner.BeginRun(), &Turns{}, "b")
	if err := b.awaitTurn(t.Context(), time.Minute); err != nil {
		t.Fatal(err)
	}
	p.set("b", nil)
	b.endTurn(t.Context())
	if err := <-first; err != nil {
		t.Error(err)
	}
}

// A hypervisor may have two names, and is looked at by either.
func TestATurnKnowsItsMachineByAnyNameOfItsHypervisor(t *testing.T) {
	t.Parallel()
	p, begin := newGroup(t, 1, "a", "b")
	again, err := hypervisor.New("test:///again", sshhost.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range p.members {
		m.at = again
	}
	turns, run := &Turns{}, owner.BeginRun()
	a := begin(run, turns, "a")
	if err := a.awaitTurn(t.Context(), time.Minute); err != nil || !a.wasUp {
		t.Fatalf("the first: %v, up: %t", err, a.wasUp)
	}
	if err := begin(run, turns, "b").awaitTurn(t.Context(), 50*time.Millisecond); !errors.As(err, new(*WaitError)) {
		t.Errorf("the second does not wait for the first: %v", err)
	}
}

// What keeps the place of a machine that moves says nothing any more once the machine is elsewhere and nobody is at work on it.
func TestThePlaceOfAMachineThatHasMovedDoesNotBlock(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		machine, workspace string
		blocks, stays      bool
	}{
		"its own":                      {"b", owner.Workspace(), false, false},
		"another state's":              {"b", "other", false, true},
		"of a machine that is nowhere": {"x", owner.Workspace(), true, true},
		"of one that is made anew":     {"", owner.Workspace(), true, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, begin := newGroup(t, 1, "a", "b")
			p.members["left"] = &member{name: "b-left", at: newHypervisor(t), place: "left", workspace: c.workspace, ticket: &ticket{ID: "1", Machine: c.machine}}
			p.set("b-left", errDown)
			err := begin(owner.BeginRun(), &Turns{}, "a").awaitTurn(t.Context(), 50*time.Millisecond)
			if blocks := errors.As(err, new(*WaitError)); blocks != c.blocks || err != nil && !blocks {
				t.Errorf("it ended with %v", err)
			}
			if stays := p.members["left"] != nil; stays != c.stays {
				t.Errorf("it stays: %t", stays)
			}
		})
	}
}

func TestTheTicketOfARunThatIsGoneDoesNotBlock(t *testing.T) {
	t.Parallel()
	for name, word := range map[string]string{"of this computer": strings.Replace(owner.BeginRun().Word(), ".", ".9", 1), "of another one": "0000aaaa.7.99.1"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, begin := newGroup(t, 1, "a", "b", "c")
			p.members["b"].ticket = &ticket{Run: word, Number: 3, Beat: 5}
			if err := begin(owner.BeginRun(), &Turns{}, "a").awaitTurn(t.Context(), 10*time.Second); err != nil {
				t.Error(err)
			}
		})
	}
}

// A machine that a killed run was to make anew counts as down, and is held to be gone for good only after a while and by an apply of all.
func TestAMachineThatNobodyMakesAnewDoesNotBlockForEver(t *testing.T) {
	t.Parallel()
	p, begin := newGroup(t, 1, "a", "b", "c")
	p.members["c"].uuid, p.members["c"].place, p.members["c"].workspace = "", "c", owner.Workspace()
	p.set("c", errDown)
	k := begin(owner.BeginRun(), &Turns{}, "a")
	if err := k.awaitTurn(t.Context(), 50*time.Millisecond); !errors.As(err, new(*WaitError)) || p.members["c"] == nil {
		t.Errorf("with a target it ended with %v", err)
	}
	began := time.Now()
	k = begin(owner.BeginRun(), &Turns{}, "b")
	k.dismisses = true
	if err := k.awaitTurn(t.Context(), 50*time.Millisecond); err != nil || p.members["c"] != nil || time.Since(began) < 50*time.Millisecond {
		t.Errorf("without one it ended with %v, after %s", err, time.Since(began))
	}
}

// A run that was suspended in its turn, while others took it for dead and theirs, waits for its turn anew before it takes its machine down.
func TestATurnThatLapsedIsAwaitedAnew(t *testing.T) {
	t.Parallel()
	for name, lapse := range map[string]func(*turn){
		"it goes on now":       func(k *turn) { k.posted = k.posted.Add(-deadAfter) },
		"it went on meanwhile": func(k *turn) { k.lapsed = true },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, begin := newGroup(t, 1, "a", "b", "c")
			k := begin(owner.BeginRun(), &Turns{}, "a")
			if err := k.awaitTurn(t.Context(), time.Minute); err != nil {
				t.Fatal(err)
			}
			p.mu.Lock()
			p.members["b"].ticket = &ticket{ID: "b", Run: "0000aaaa.7.99.1", Number: 7, Step: "is being changed"}
			p.mu.Unlock()
			if err := k.confirmTurn(t.Context(), 50*time.Millisecond); err != nil {
				t.Errorf("it never lapsed, and ended with %v", err)
			}
			k.endBeat()
			k.mu.Lock()
			lapse(k)
			k.mu.Unlock()
			if err := k.confirmTurn(t.Context(), 50*time.Millisecond); !errors.As(err, new(*WaitError)) || !strings.Contains(err.Error(), `node "b", which is being changed`) {
				t.Errorf("beside another's turn it ended with %v", err)
			}
		})
	}
}

// A machine that goes for good, after it waited in vain for its turn, does not wait once more because what prepares it takes long.
func TestARemovalThatWaitedInVainWaitsNoMore(t *testing.T) {
	t.Parallel()
	p, begin := newGroup(t, 1, "a", "b", "c")
	p.set("b", errDown)
	k := begin(owner.BeginRun(), &Turns{}, "a")
	if err := k.awaitTurn(t.Context(), 20*time.Millisecond); !errors.As(err, new(*WaitError)) {
		t.Fatalf("it ended with %v", err)
	}
	k.mu.Lock()
	k.posted = k.posted.Add(-deadAfter)
	k.mu.Unlock()
	if err := k.confirmTurn(t.Context(), 20*time.Millisecond); err != nil {
		t.Errorf("it waits again, and ended with %v", err)
	}
}

func TestAFailedTurnStopsTheRoll(t *testing.T) {
	t.Parallel()
	_, begin := newGroup(t, 1, "a", "b", "c")
	turns, run := &Turns{}, owner.BeginRun()
	a := begin(run, turns, "a")
	if err := a.awaitTurn(t.Context(), time.Minute); err != nil {
		t.Fatal(err)
	}
	waits := make(chan error, 1)
	go func() { waits <- begin(run, turns, "b").awaitTurn(t.Context(), time.Minute) }()
	time.Sleep(10 * time.Millisecond)
	if err := a.failTurn(t.Context(), "it was changed", errDown); !strings.Contains(err.Error(), `node "a" of group "g": no answer. Of this machine, it was changed`) {
		t.Errorf("it says %v", err)
	}
	if err := <-waits; err == nil || !strings.Contains(err.Error(), `node "b" stays as it is`) || !strings.Contains(err.Error(), `node "a": no answer`) {
		t.Errorf("the other says %v", err)
	}
}

// What a turn that fails leaves drained is on the machine's mark, named by the error, and known to the next turn; it blocks nobody.
func TestWhatATurnLeavesDrainedIsKept(t *testing.T) {
	t.Parallel()
	p, begin := newGroup(t, 1, "a", "b")
	turns, run := &Turns{}, owner.BeginRun()
	a := begin(run, turns, "a")
	if err := a.awaitTurn(t.Context(), time.Minute); err != nil {
		t.Fatal(err)
	}
	a.drained = serverSet{"ssh://root@10.0.0.100": {{Backend: "api", Name: "m1"}, {Backend: "ingress", Name: "m1"}}}
	p.set("a", errDown)
	if err := a.failTurn(t.Context(), "it was changed", errDown); !strings.Contains(err.Error(), "its servers take no new connections: api/m1 on ssh://root@10.0.0.100, ingress/m1 on ssh://root@10.0.0.100") {
		t.Errorf("it says %v", err)
	}
	left := p.members["a"].ticket
	if left == nil || !maps.EqualFunc(parseServers(left.Drained), a.drained, slices.Equal) || turns.isAlive(run, left) {
		t.Fatalf("its mark is %+v", left)
	}
	p.set("a", nil)
	b := begin(owner.BeginRun(), &Turns{}, "b")
	if err := b.awaitTurn(t.Context(), 10*time.Second); err != nil {
		t.Fatal(err)
	}
	b.endTurn(t.Context())
	if p.members["b"].ticket != nil || p.members["a"].ticket == nil {
		t.Errorf("the marks are %+v and %+v", p.members["a"].ticket, p.members["b"].ticket)
	}
}

// A service node that is down is waited for, in words that others see, and not for ever; one that refuses is not.
func TestAServiceNodeThatIsDownIsWaitedFor(t *testing.T) {
	t.Parallel()
	for name, again := range map[string]bool{"is down": true, "refuses": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, begin := newGroup(t, 1, "a")
			a := begin(owner.BeginRun(), &Turns{}, "a")
			if err := a.awaitTurn(t.Context(), time.Minute); err != nil {
				t.Fatal(err)
			}
			a.settings.Timeout, a.drained = "200ms", serverSet{}
			a.balancers = balancers{
				hosts:     func(context.Context, string) (host.Host, error) { return nil, errDown },
				temporary: func(error) (bool, bool) { return again, false },
			}
			began := time.Now()
			err := a.drainServers(t.Context(), &machine.Drain{ServiceNodes: []string{"ssh://root@lb"}}, nil)
			if waited := time.Since(began) > 150*time.Millisecond; !errors.Is(err, errDown) || waited != again {
				t.Errorf("it waited: %t, and says %v", waited, err)
			}
			a.mu.Lock()
			defer a.mu.Unlock()
			if step := p.members["a"].ticket.Step; !strings.HasPrefix(step, "waits for service node ssh://root@lb") {
				t.Errorf("others see that it %s", step)
			}
			a.stopBeating()
		})
	}
}

func TestErrorsOfAServiceNodeThatMayPass(t *testing.T) {
	t.Parallel()
	b := balancers{temporary: func(err error) (bool, bool) { return errors.Is(err, errDown), false }}
	for err, want := range map[error]bool{&host.ExitError{}: true, haproxy.ErrNoSocket: true, errDown: true, errors.New("wrong key"): false} {
		t.Run(fmt.Sprintf("%T %[1]v", err), func(t *testing.T) {
			if got, _ := b.mayPass(fmt.Errorf("visit: %w", err)); got != want {
				t.Errorf("it may pass: %t", got)
			}
		})
	}
}

// A run whose machines go for good waits for what is down once, whatever number of them.
func TestRemovalsWaitInVainOnce(t *testing.T) {
	t.Parallel()
	var turns Turns
	if got := turns.boundRemoval(); got != removalPatience {
		t.Errorf("the first waits for %s", got)
	}
	turns.noteInVain()
	if got := turns.boundRemoval(); got != briefPatience {
		t.Errorf("the second waits for %s", got)
	}
}

func TestTooLittleParallelismIsRefused(t *testing.T) {
	t.Parallel()
	p, begin := newGroup(t, 1, "a", "b", "c")
	turns, run := &Turns{}, owner.BeginRun()
	a := begin(run, turns, "a")
	if err := a.awaitTurn(t.Context(), time.Minute); err != nil {
		t.Fatal(err)
	}
	p.set("a", errDown)
	turns.leaveOpen("a", a)
	results := make(chan error, 2)
	for _, name := range []string{"b", "c"} {
		k := begin(run, turns, name)
		k.parallelism = 2
		go func() { results <- k.awaitTurn(t.Context(), time.Minute) }()
	}
	for range 2 {
		if err := <-results; err == nil || !strings.Contains(err.Error(), "-parallelism=3") {
			t.Errorf("it says %v", err)
		}
	}
	if turns.takeOpen("a") != a || turns.takeOpen("a") != nil {
		t.Error("the turn is not open for its create, once")
	}
}

func TestATicketComesBackFromADomain(t *testing.T) {
	t.Parallel()
	k := &ticket{ID: "i", Run: "a.1.2.3", Number: 4, Beat: 5, Step: `waits for "b" & <c>`, Drained: "ssh://root@a?x=<y>>api/m", Group: "g", Member: "m", Workspace: "w", Machine: "u"}
	text, err := k.renderQualified()
	if err != nil {
		t.Fatal(err)
	}
	got := &ticket{}
	there, err := metadata.ReadTurn(&libvirtxml.Domain{Metadata: &libvirtxml.DomainMetadata{XML: "<other xmlns='urn:x'/>" + text}}, got)
	if got.XMLName = k.XMLName; err != nil || !there || *got != *k {
		t.Errorf("%s came back as %v, %v", text, got, err)
	}
	if there, err := metadata.ReadTurn(&libvirtxml.Domain{}, got); there || err != nil {
		t.Errorf("a domain without one has one: %v", err)
	}
}
