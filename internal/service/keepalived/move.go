package keepalived

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
)

// seat is what a member of a VIP says of it.
type seat struct {
	member   string
	host     host.Host
	instance Instance
	holds    bool
	err      error
}

// moveLimit bounds the wait for the other member to hold the addresses.
const moveLimit = 20 * time.Second

// Move has another member hold the addresses of a VIP, by its name, than the one that does: one of the members, by their names, or, where to is "",
// the one that answers and has the highest priority. It returns who held them and who does; the same one where nothing had to be done. The one
// that held them hands over all virtual addresses of the provider's that it holds, and the other one is before all others for a quarter of an hour.
func (o *HandOvers) Move(ctx context.Context, vip string, members map[string]host.Host, to string) (from, at string, err error) {
	seats := lookAtSeats(ctx, vip, members)
	holder := slices.IndexFunc(seats, func(s seat) bool { return s.holds })
	if holder < 0 {
		return "", "", errors.Join(fmt.Errorf("no member holds the addresses of %s, so nobody can hand them over", vip), listErrors(seats))
	}
	heir := chooseHeir(seats, holder, to)
	if heir < 0 {
		return "", "", errors.Join(fmt.Errorf("no other member of %s can take its addresses over", vip), listErrors(seats))
	}
	from, at = seats[holder].member, seats[heir].member
	if err := seats[heir].err; err != nil || heir == holder {
		return from, at, err
	}
	for _, s := range []seat{seats[holder], seats[heir]} {
		if len(s.instance.yieldFiles()) == 0 {
			return from, at, fmt.Errorf("%s cannot be handed over from %s to %s: keepalived is told to only where the members speak by unicast and none has the priority 255", vip, from, at)
		}
	}
	if err := Lift(ctx, seats[heir].host); err != nil {
		return from, at, err
	}
	o.Forget(seats[heir].host.String()) // it takes over, whatever it handed over before
	ordered, err := o.Leave(ctx, seats[holder].host, true)
	if err == nil && !ordered {
		err = fmt.Errorf("another member of %s hands its addresses over in this run already", vip)
	}
	if err != nil {
		return from, at, err
	}
	return from, at, awaitHeld(ctx, seats[heir], vip)
}

// lookAtSeats asks all members at the same time, and returns them in the order of their names.
func lookAtSeats(ctx context.Context, vip string, members map[string]host.Host) []seat {
	seats := make([]seat, len(members))
	var all sync.WaitGroup
	for i, member := range slices.Sorted(maps.Keys(members)) {
		all.Go(func() { seats[i] = lookAtSeat(ctx, vip, member, members[member]) })
	}
	all.Wait()
	return seats
}

func lookAtSeat(ctx context.Context, vip, member string, h host.Host) seat {
	s := seat{member: member, host: h}
	var links Links
	in, err := findOwnInstance(ctx, h, vip)
	if err == nil {
		links, err = ReadLinks(ctx, h)
	}
	if err != nil {
		s.err = fmt.Errorf("member %s: %w", member, err)
		return s
	}
	s.instance, s.holds = in, links.HoldsAny(in.All())
	return s
}

// findOwnInstance returns a VIP's instance on a machine, an error where it is not one of this state.
func findOwnInstance(ctx context.Context, h host.Host, vip string) (Instance, error) {
	files, err := host.ReadGlobs(ctx, h, []string{Path})
	if err != nil {
		return Instance{}, err
	}
	ours, _, err := Instances(files)
	if err != nil {
		return Instance{}, err
	}
	at := slices.IndexFunc(ours, func(in Instance) bool { return in.Name == vip })
	if at < 0 {
		return Instance{}, fmt.Errorf("keepalived on %s has no VIP %q of the provider's", h, vip)
	}
	owners, err := OwnersOf(files)
	if mark := owners[vip]; err == nil && !mark.IsHere() {
		err = fmt.Errorf("the VIP %q on %s is %s: only one of this state is moved", vip, h, mark.Whose())
	}
	return ours[at], err
}

// listErrors are what is wrong with members.
func listErrors(seats []seat) error {
	var all []error
	for _, s := range seats {
		all = append(all, s.err)
	}
	return errors.Join(all...)
}

// chooseHeir returns which of the seats is to hold the addresses: the one that is named, or the best beside the holder; -1 where there is none.
func chooseHeir(seats []seat, holder int, to string) int {
	best := -1
	for i, s := range seats {
		switch {
		case to != "" && s.member == to:
			return i
		case to == "" && i != holder && s.err == nil && (best < 0 || s.instance.Priority > seats[best].instance.Priority):
			best = i
		}
	}
	return best
}

// awaitHeld returns when a member holds the addresses of a VIP.
func awaitHeld(ctx context.Context, heir seat, vip string) error {
	for began := time.Now(); ; {
		links, err := ReadLinks(ctx, heir.host)
		if err != nil || links.HoldsAny(heir.instance.All()) {
			return err
		}
		if time.Since(began) > moveLimit {
			return fmt.Errorf("member %s does not hold the addresses of %s after %s: look whether keepalived runs there and its checks succeed", heir.member, vip, moveLimit)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
}
