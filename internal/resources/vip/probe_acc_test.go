package vip_test

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/icmp"
	"golang.org/x/net/ipv4"
	"golang.org/x/sys/unix"
)

// pollInterval is how often a probe looks.
const pollInterval = 20 * time.Millisecond

// probe watches from outside which machines have a virtual address on a device, and whether a client of the
// segment gets an answer from it.
type probe struct {
	mu      sync.Mutex
	names   []string
	watched []netip.Addr
	phases  []*phase
	dead    map[string]bool
	stop    chan struct{}
	done    sync.WaitGroup
}

// phase is what was seen between two marks.
type phase struct {
	name    string
	start   time.Time
	samples int
	// two counts samples with two owners, and brief those with two that were one an interval later.
	two, brief int
	// owners is the timeline: who had the address from when on.
	owners   []string
	since    []time.Time
	gap      time.Duration
	gapStart time.Time
	// answers and silence are a client's view.
	answers    int
	lastAnswer time.Time
	silence    time.Duration
}

// startProbe watches an address on machines of the sandbox ("svc-1").
func startProbe(t *testing.T, address string, names ...string) *probe {
	t.Helper()
	p := &probe{names: names, watched: []netip.Addr{netip.MustParseAddr(address)}, dead: map[string]bool{}, stop: make(chan struct{})}
	p.mark("before")
	spaces := make([]*os.File, len(names))
	for i, name := range names {
		f, err := os.Open("/run/netns/" + name)
		if err != nil {
			t.Fatal(err)
		}
		spaces[i] = f
	}
	conn, err := icmp.ListenPacket("ip4:icmp", "0.0.0.0")
	if err != nil {
		t.Fatal(err)
	}
	p.done.Add(2)
	go p.look(spaces)
	go p.ask(conn)
	go p.hear(conn)
	t.Cleanup(func() { close(p.stop); p.done.Wait(); _ = conn.Close() })
	return p
}

// mark begins a phase.
func (p *probe) mark(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	next := &phase{name: name, start: time.Now()}
	if n := len(p.phases); n > 0 {
		next.lastAnswer = p.phases[n-1].lastAnswer
		if !p.phases[n-1].gapStart.IsZero() {
			next.gapStart = next.start
		}
	}
	p.phases = append(p.phases, next)
}

// watch changes the addresses that are looked for; having any of them is having it. A client asks the first.
func (p *probe) watch(addresses ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.watched = nil
	p.phases[len(p.phases)-1].lastAnswer = time.Time{}
	for _, a := range addresses {
		p.watched = append(p.watched, netip.MustParseAddr(a))
	}
}

// kill takes a machine that has lost its power out of what is looked at.
func (p *probe) kill(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dead[name] = true
}

// look samples all machines from one thread, which goes through their network namespaces.
func (p *probe) look(spaces []*os.File) {
	defer p.done.Done()
	runtime.LockOSThread() // never unlocked: the thread ends in another namespace and dies with the goroutine
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		select {
		case <-p.stop:
			return
		case <-tick.C:
		}
		owners := p.owners(spaces)
		if len(owners) > 1 {
			// One machine is looked at after the other, and an address that moved meanwhile was seen with both: only a
			// second look proves that they had it at once.
			owners = p.owners(spaces)
		}
		brief := false
		if len(owners) > 1 {
			// A member that returns preempts: it takes the address and then says so, and both have it until the other,
			// on a busy machine, hears it.
			time.Sleep(pollInterval)
			owners = p.owners(spaces)
			brief = len(owners) < 2
		}
		p.record(owners, brief)
	}
}

func (p *probe) owners(spaces []*os.File) []string {
	var owners []string
	for i, space := range spaces {
		p.mu.Lock()
		watched, dead := p.watched, p.dead[p.names[i]]
		p.mu.Unlock()
		if dead || unix.Setns(int(space.Fd()), unix.CLONE_NEWNET) != nil {
			continue
		}
		addresses, _ := net.InterfaceAddrs()
		if slices.ContainsFunc(addresses, func(a net.Addr) bool {
			prefix, err := netip.ParsePrefix(a.String())
			return err == nil && slices.Contains(watched, prefix.Addr())
		}) {
			owners = append(owners, p.names[i])
		}
	}
	return owners
}

func (p *probe) record(owners []string, brief bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now, f := time.Now(), p.phases[len(p.phases)-1]
	f.samples++
	if len(owners) > 1 {
		f.two++
	}
	if brief {
		f.brief++
	}
	seen := strings.Join(owners, "+")
	if seen == "" {
		seen = "-"
	}
	if len(f.owners) == 0 || f.owners[len(f.owners)-1] != seen {
		f.owners, f.since = append(f.owners, seen), append(f.since, now)
	}
	if len(owners) > 0 {
		f.gapStart = time.Time{}
		return
	}
	if f.gapStart.IsZero() {
		f.gapStart = now.Add(-pollInterval) // it may have begun right after the sample before
	}
	f.gap = max(f.gap, now.Sub(f.gapStart))
}

// ask sends an echo request to the first watched address in every interval.
func (p *probe) ask(conn *icmp.PacketConn) {
	defer p.done.Done()
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for seq := 1; ; seq++ {
		select {
		case <-p.stop:
			return
		case <-tick.C:
		}
		p.mu.Lock()
		to := p.watched[0]
		p.mu.Unlock()
		packet, _ := (&icmp.Message{Type: ipv4.ICMPTypeEcho, Body: &icmp.Echo{ID: 4711, Seq: seq & 0xffff}}).Marshal(nil)
		_, _ = conn.WriteTo(packet, &net.IPAddr{IP: to.AsSlice()})
	}
}

// hear notes the answers until the connection is closed.
func (p *probe) hear(conn *icmp.PacketConn) {
	buffer := make([]byte, 1500)
	for {
		n, _, err := conn.ReadFrom(buffer)
		if err != nil {
			return
		}
		m, err := icmp.ParseMessage(1, buffer[:n])
		if echo, ok := m.Body.(*icmp.Echo); err != nil || !ok || m.Type != ipv4.ICMPTypeEchoReply || echo.ID != 4711 {
			continue
		}
		p.mu.Lock()
		now, f := time.Now(), p.phases[len(p.phases)-1]
		if !f.lastAnswer.IsZero() {
			f.silence = max(f.silence, now.Sub(f.lastAnswer))
		}
		f.answers, f.lastAnswer = f.answers+1, now
		p.mu.Unlock()
	}
}

// settled says whether a machine has had the address for somewhat more than an advertisement, and, where it was to
// move, has got it back in this phase.
func (p *probe) settled(machine string, moves bool) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	f := p.phases[len(p.phases)-1]
	n := len(f.owners)
	return n > 0 && f.owners[n-1] == machine && (!moves || n > 2) && time.Since(f.since[n-1]) > 1200*time.Millisecond
}

// report prints the phases and fails the test where the address had two owners, or none for longer than its limit. Two for
// a moment are a fault up to the limit of a planned change; beyond it, keepalived moves the address by itself.
func (p *probe) report(t *testing.T, limits map[string]time.Duration) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	t.Logf("%-34s %8s %4s %6s %9s %11s  owners", "phase", "samples", "two", "brief", "gap", "client gap")
	for _, f := range p.phases {
		var line []string
		for i, owner := range f.owners {
			line = append(line, fmt.Sprintf("%s@%.2fs", owner, f.since[i].Sub(f.start).Seconds()))
		}
		t.Logf("%-34s %8d %4d %6d %9s %11s  %s", f.name, f.samples, f.two, f.brief, f.gap.Round(time.Millisecond), f.silence.Round(time.Millisecond), strings.Join(line, " "))
		limit, limited := limits[f.name]
		if !limited {
			continue
		}
		if f.two > 0 || f.brief > 0 && limit <= planned {
			t.Errorf("%s: %d samples with two owners, %d with two for a moment", f.name, f.two, f.brief)
		}
		if f.gap > limit {
			t.Errorf("%s: nobody had the address for %s, more than %s", f.name, f.gap, limit)
		}
	}
}
