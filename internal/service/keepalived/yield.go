package keepalived

import (
	"context"
	_ "embed"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
)

// A machine hands its virtual addresses over by files that keepalived watches: what is written there counts within
// milliseconds, without another configuration. One lowers the priority. The other takes the machine out where a lower
// priority moves nothing: in sync groups, which have no weights, and where nobody preempts.
const (
	yieldName = "virtcluster_yield"
	yieldPath = "/run/virtcluster-keepalived-yield"
	leaveName = "virtcluster_leave"
	leavePath = "/run/virtcluster-keepalived-leave"
	// yieldBy is more than members' priorities differ by.
	yieldBy = 200
	// yieldTime is how long a machine stays behind the others: until then the apply that took something away has changed the
	// VIP's members, or that was not what it is about. A machine that goes in the same apply may take a minute to shut down before
	// the members change.
	yieldTime = 90 * time.Second
)

// yieldFile is the file that the instance watches; "" where there is nobody to hand its addresses to.
func (in Instance) yieldFile() string {
	switch {
	case !in.Unicast || in.Priority >= heir || in.Priority <= 0:
		return ""
	case in.NoPreempt || in.SyncGroup != "":
		return leaveName
	}
	return yieldName
}

// deriveYield declares the files that instances watch, before the first of them: keepalived knows what it has read already.
func (c *config) deriveYield() {
	c.removeChunks(func(k chunk) bool { return k.markOf() == yieldMark })
	for _, file := range []struct {
		name, path string
		weight     int
	}{{yieldName, yieldPath, 1}, {leaveName, leavePath, 0}} {
		if i := slices.IndexFunc(c.chunks, func(k chunk) bool { return k.vipOf() != "" && k.watchesFile(file.name) }); i >= 0 {
			c.insertBlock(i, yieldMark, fmt.Sprintf("track_file %s {\n    file \"%s\"\n    weight %d\n    init_file 0\n}\n", file.name, file.path, file.weight))
		}
	}
}

// watchesFile says whether a chunk is an instance that watches a file.
func (k chunk) watchesFile(name string) bool {
	return k.node.firstWord() == "vrrp_instance" && slices.ContainsFunc(k.node.children, func(n node) bool {
		return n.firstWord() == "track_file" && slices.ContainsFunc(n.children, func(line node) bool { return line.wordAt(0) == name })
	})
}

// yieldScript hands the addresses over, says whether they are handed over, and ends that.
//
//go:embed yield.sh
var yieldScript string

// HandOvers remembers which machines of a run handed virtual addresses over. The zero value remembers none.
type HandOvers struct {
	mu sync.Mutex
	// by has which machine handed over the addresses of an instance, so that no two of its members do in one run: then nobody would hold
	// them.
	by map[string]handOver
	// moved are virtual addresses that a machine handed over and that nobody was asked about since.
	moved map[netip.Addr]bool
}

type handOver struct {
	machine string
	at      time.Time
}

// mayYield says whether no other machine that shares an instance with this one is behind it, and notes that this one is.
func (o *HandOvers) mayYield(machine string, instances []Instance) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	key := func(in Instance) string { return fmt.Sprint(in.RouterID, in.All()) }
	for _, in := range instances {
		if last := o.by[key(in)]; last.machine != machine && time.Since(last.at) < 2*yieldTime {
			return false
		}
	}
	if o.by == nil {
		o.by = map[string]handOver{}
	}
	for _, in := range instances {
		o.by[key(in)] = handOver{machine, time.Now()}
	}
	return true
}

// mayYieldAgain ends what mayYield noted of a machine.
func (o *HandOvers) mayYieldAgain(machine string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	maps.DeleteFunc(o.by, func(_ string, last handOver) bool { return last.machine == machine })
}

// noteMoved notes that a machine handed addresses over.
func (o *HandOvers) noteMoved(addresses []netip.Prefix) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.moved == nil {
		o.moved = map[netip.Addr]bool{}
	}
	for _, a := range addresses {
		o.moved[a.Addr()] = true
	}
}

// HaveMoved says whether a machine handed one of the addresses over in this run, since Settle was told of it.
func (o *HandOvers) HaveMoved(addresses []netip.Prefix) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.ContainsFunc(addresses, func(a netip.Prefix) bool { return o.moved[a.Addr()] })
}

// Settle forgets that addresses were handed over: who holds them now is known.
func (o *HandOvers) Settle(addresses []netip.Prefix) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, a := range addresses {
		delete(o.moved, a.Addr())
	}
}

// HandsOver says whether a machine stays behind the others for now, as Yield has it do.
func HandsOver(ctx context.Context, h host.Host) (bool, error) {
	out, err := h.Run(ctx, host.RepeatableScript("look for a hand-over", yieldScript, "look", yieldPath, leavePath))
	return len(out) > 0, err
}

// Resume has a machine that handed addresses over take part again at once: it is meant to.
func (o *HandOvers) Resume(ctx context.Context, h host.Host) error {
	o.mayYieldAgain(h.String())
	return runScript(ctx, h, host.Script("end a hand-over", yieldScript, "end", yieldPath, leavePath))
}

// yieldLimit bounds the wait for another member to take the addresses: it does within milliseconds, or not at all.
const yieldLimit = 2 * time.Second

// Yield has a machine hand over the virtual addresses of the provider's that it holds and that one of the listeners is
// reached at; an unspecified listener is reached at all of them. The machine stays behind the other members for half a
// minute, or until Resume. Of the members of one VIP only the first that is asked hands over. ordered says whether it does.
func (o *HandOvers) Yield(ctx context.Context, h host.Host, listeners []netip.Addr) (ordered bool, err error) {
	files, err := host.ReadGlobs(ctx, h, []string{Path})
	if err != nil || len(files) == 0 {
		return false, err
	}
	ours, _, err := Instances(files)
	if err != nil {
		return false, err
	}
	var moving []netip.Prefix
	for _, in := range ours {
		if in.yieldFile() != "" {
			moving = append(moving, reachedAddresses(in.All(), listeners)...)
		}
	}
	links, err := ReadLinks(ctx, h)
	if err != nil || !links.HoldsAny(moving) || !o.mayYield(h.String(), ours) {
		return false, err
	}
	seconds := fmt.Sprint(int(yieldTime.Seconds()))
	if _, err := h.Run(ctx, host.Script("hand over virtual addresses", yieldScript, "begin", fmt.Sprint(-yieldBy), seconds, yieldPath, leavePath)); err != nil {
		return false, err
	}
	o.noteMoved(moving)
	for began := time.Now(); time.Since(began) < yieldLimit; time.Sleep(50 * time.Millisecond) {
		if links, err = ReadLinks(ctx, h); err != nil || !links.HoldsAny(moving) {
			return true, err
		}
	}
	return true, nil
}

// reachedAddresses are those of the addresses that a listener is reached at.
func reachedAddresses(addresses []netip.Prefix, listeners []netip.Addr) []netip.Prefix {
	return slices.DeleteFunc(slices.Clone(addresses), func(a netip.Prefix) bool {
		return !slices.ContainsFunc(listeners, func(l netip.Addr) bool { return l == a.Addr() || l.IsUnspecified() && (l.Is6() || a.Addr().Is4()) })
	})
}
