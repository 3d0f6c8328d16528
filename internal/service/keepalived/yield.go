package keepalived

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
)

// A machine hands its virtual addresses over by files that keepalived watches: what is written there counts within
// milliseconds, without another configuration. One changes the priority. A lower one moves addresses when the others have not heard
// of an equal one for three advertisements; until then the machine holds them. The other takes the machine out, which moves them
// within one advertisement, and at once to a machine whose priority was lifted: where nobody preempts, a lower priority moves nothing,
// and in sync groups it would not do so in the time that who removes a frontend waits.
const (
	yieldName = "virtcluster_yield"
	yieldPath = "/run/virtcluster-keepalived-yield"
	leaveName = "virtcluster_leave"
	leavePath = "/run/virtcluster-keepalived-leave"
	// yieldBy is more than members' priorities differ by.
	yieldBy = 200
	// leaveBy takes a machine out by either file: keepalived's limit for what is added to a priority is 253.
	leaveBy = 254
	// yieldTime is how long a machine stays behind the others: until then the apply that took something away has changed the
	// VIP's members, or that was not what it is about. A machine that goes in the same apply may take a minute to shut down before
	// the members change.
	yieldTime = 90 * time.Second
	// liftTime is how long a machine stays before the others at most: who goes down meanwhile serves again by then, or never.
	liftTime = 15 * time.Minute
)

// yieldFiles are the files that instances watch, by their names in keepalived's configuration.
var yieldFiles = []struct {
	name, path string
	weight     int
}{{yieldName, yieldPath, 1}, {leaveName, leavePath, 0}}

// yieldFiles are the names of those that the instance watches; none where there is nobody to hand its addresses to.
func (in Instance) yieldFiles() []reference {
	switch {
	case !in.Unicast || in.Priority >= heir || in.Priority <= 0:
		return nil
	case in.NoPreempt:
		return []reference{leaveName}
	case in.SyncGroup != "":
		return []reference{leaveName, yieldName}
	}
	return []reference{yieldName}
}

// deriveYield declares the files that instances watch, before the first of them: keepalived knows what it has read already.
func (c *config) deriveYield() {
	c.removeChunks(func(k chunk) bool { return k.markOf() == yieldMark })
	for _, file := range yieldFiles {
		if i := slices.IndexFunc(c.chunks, func(k chunk) bool { return k.vipOf() != "" && k.watchesFile(file.name) }); i >= 0 {
			c.insertBlock(i, yieldMark, fmt.Sprintf("track_file %s {\n    file \"%s\"\n    weight %d\n    init_file 0\n}\n", file.name, file.path, file.weight))
		}
	}
}

// listYieldPaths returns where the files are that one of the instances watches.
func listYieldPaths(all []Instance) (paths []string) {
	for _, file := range yieldFiles {
		if slices.ContainsFunc(all, func(in Instance) bool { return slices.Contains(in.yieldFiles(), reference(file.name)) }) {
			paths = append(paths, file.path)
		}
	}
	return paths
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

// Forget ends what is known of a machine that handed addresses over, and that takes part again: others may hand theirs over to it.
func (o *HandOvers) Forget(machine string) {
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
	o.Forget(h.String())
	return runScript(ctx, h, endScript())
}

// yieldLimit bounds the wait for another member to take the addresses: it does within milliseconds, or not at all.
const yieldLimit = 2 * time.Second

// Yield has a machine hand over the virtual addresses of the provider's that it holds and that one of the listeners is
// reached at; an unspecified listener is reached at all of them. The machine stays behind the other members for a minute
// and a half, or until Resume. Of the members of one VIP only the first that is asked hands over. ordered says whether it does.
func (o *HandOvers) Yield(ctx context.Context, h host.Host, listeners []netip.Addr) (ordered bool, err error) {
	ours, err := readInstances(ctx, h)
	if err != nil {
		return false, err
	}
	moving := reachedAddresses(listMovable(ours), listeners)
	links, err := ReadLinks(ctx, h)
	if err != nil || !links.HoldsAny(moving) || !o.mayYield(h.String(), ours) {
		return false, err
	}
	return true, o.moveAddresses(ctx, h, moving, beginScript(-yieldBy, yieldTime, nil, yieldPath, leavePath))
}

// Leave has a machine that is about to go down hand over all virtual addresses of the provider's that it holds. It stays out for a minute and
// a half, or until Resume. As with Yield, only the first of the members of one VIP does so. ordered says whether it does. Another machine has them
// then: at once where lifted says that one was lifted, and else within the time between two advertisements (RFC 5798, section 6.4.2: Skew_Time).
func (o *HandOvers) Leave(ctx context.Context, h host.Host, lifted bool) (ordered bool, err error) {
	ours, err := readInstances(ctx, h)
	if err != nil {
		return false, err
	}
	moving := listMovable(ours)
	links, err := ReadLinks(ctx, h)
	if err != nil || !links.HoldsAny(moving) || !o.mayYield(h.String(), ours) {
		return false, err
	}
	err = o.moveAddresses(ctx, h, moving, beginScript(-leaveBy, yieldTime, links.Held(moving), yieldPath, leavePath))
	if err == nil && !lifted {
		time.Sleep(longestAdvert(ours))
	}
	return true, err
}

// longestAdvert returns the longest time between two advertisements of instances.
func longestAdvert(all []Instance) (longest time.Duration) {
	for _, in := range all {
		longest = max(longest, time.Duration(in.AdvertInterval*float64(time.Second)))
	}
	return longest
}

// moveAddresses gives an order by which a machine does not hold addresses any more, and returns when that is so, or after a while.
func (o *HandOvers) moveAddresses(ctx context.Context, h host.Host, moving []netip.Prefix, order host.Cmd) error {
	if err := runScript(ctx, h, order); err != nil {
		return err
	}
	o.noteMoved(moving)
	return awaitGone(ctx, h, moving)
}

// awaitGone returns when a machine holds none of the addresses, or after a while.
func awaitGone(ctx context.Context, h host.Host, moving []netip.Prefix) error {
	for began := time.Now(); time.Since(began) < yieldLimit; time.Sleep(50 * time.Millisecond) {
		if links, err := ReadLinks(ctx, h); err != nil || !links.HoldsAny(moving) {
			return err
		}
	}
	return nil
}

// Lift puts a machine before all others, for a quarter of an hour or until Resume: it takes over at once from one that leaves, and keeps what it
// holds, whoever comes up with a higher priority.
func Lift(ctx context.Context, h host.Host) error {
	return runScript(ctx, h, beginScript(yieldBy, liftTime, nil, yieldPath))
}

// GiveBack ends Lift of a machine where another one can hold the addresses again: those for which that one has the higher priority go to it.
// Where they are not all of the machine's, the priorities move them.
func GiveBack(ctx context.Context, from, to host.Host) error {
	ours, err := readInstances(ctx, from)
	if err != nil {
		return err
	}
	theirs, err := readInstances(ctx, to)
	if err != nil {
		return err
	}
	moving := listOutranked(ours, theirs)
	links, err := ReadLinks(ctx, from)
	if err == nil && len(moving) == len(listMovable(ours)) && links.HoldsAny(moving) {
		if err = Lift(ctx, to); err == nil {
			err = runScript(ctx, from, beginScript(-leaveBy, yieldTime, links.Held(moving), yieldPath, leavePath))
		}
		if err == nil {
			err = awaitGone(ctx, from, moving)
		}
	}
	return errors.Join(err, runScript(ctx, from, endScript()), runScript(ctx, to, endScript()))
}

// HoldsAddresses says whether a machine holds a virtual address that it can hand over, and the highest priority that it has for one; 0 where it
// has none.
func HoldsAddresses(ctx context.Context, h host.Host) (holds bool, priority int, err error) {
	ours, err := readInstances(ctx, h)
	if err != nil {
		return false, 0, err
	}
	for _, in := range ours {
		priority = max(priority, in.Priority)
	}
	links, err := ReadLinks(ctx, h)
	return err == nil && links.HoldsAny(listMovable(ours)), priority, err
}

// beginScript has the files say a value for so long. Addresses that move by that do so without those who are connected to them.
func beginScript(value int, limit time.Duration, moving []netip.Prefix, files ...string) host.Cmd {
	var addresses []string
	for _, a := range moving {
		addresses = append(addresses, a.Addr().String())
	}
	arguments := []string{"begin", fmt.Sprint(value), fmt.Sprint(int(limit.Seconds())), strings.Join(addresses, " ")}
	return host.Script("hand over virtual addresses", yieldScript, append(arguments, files...)...)
}

func endScript() host.Cmd {
	return host.Script("end a hand-over", yieldScript, "end", yieldPath, leavePath)
}

// readInstances reads the provider's instances on a machine.
func readInstances(ctx context.Context, h host.Host) ([]Instance, error) {
	files, err := host.ReadGlobs(ctx, h, []string{Path})
	if err != nil || len(files) == 0 {
		return nil, err
	}
	ours, _, err := Instances(files)
	return ours, err
}

// listMovable lists the addresses of instances that can be handed over.
func listMovable(all []Instance) (addresses []netip.Prefix) {
	for _, in := range all {
		if len(in.yieldFiles()) > 0 {
			addresses = append(addresses, in.All()...)
		}
	}
	return addresses
}

// listOutranked lists the addresses of instances that another machine, which has a higher priority, would take.
func listOutranked(ours, theirs []Instance) []netip.Prefix {
	return listMovable(slices.DeleteFunc(slices.Clone(ours), func(in Instance) bool {
		return in.NoPreempt || !slices.ContainsFunc(theirs, func(other Instance) bool { return other.Name == in.Name && other.Priority > in.Priority })
	}))
}

// reachedAddresses are those of the addresses that a listener is reached at.
func reachedAddresses(addresses []netip.Prefix, listeners []netip.Addr) []netip.Prefix {
	return slices.DeleteFunc(slices.Clone(addresses), func(a netip.Prefix) bool {
		return !slices.ContainsFunc(listeners, func(l netip.Addr) bool { return l == a.Addr() || l.IsUnspecified() && (l.Is6() || a.Addr().Is4()) })
	})
}
