package vip

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/addressuse"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/hostnet"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/keepalived"
)

// demand is what a member needs on its machine that the VIP did not have there before.
type demand struct {
	member keepalived.Member
	// addresses are numbers of the VIP's.
	addresses []int
	// routerID says that nobody else's instance may have its id on the member's interface.
	routerID bool
}

// listDemands returns what a change of a VIP needs on the members' machines beside what it has there.
func listDemands(prior, want keepalived.VIP) []demand {
	var all []demand
	for _, m := range want.Members {
		had := slices.ContainsFunc(prior.Members, func(p keepalived.Member) bool { return p.ID == m.ID && p.Interface == m.Interface })
		d := demand{member: m, routerID: !had || prior.RouterID != want.RouterID}
		for i, a := range want.Addresses {
			if !had || !slices.Contains(prior.ListAddresses(), a.Addr()) {
				d.addresses = append(d.addresses, i)
			}
		}
		if m.ID != "" && (d.routerID || len(d.addresses) > 0) {
			all = append(all, d)
		}
	}
	return all
}

// refuseTaken returns why a machine, as it is used, cannot meet a demand of the VIP, at the attribute. makesRoom says whether a holder with a mark
// does, names are those of the VIP's own instance.
func (d demand) refuseTaken(use addressuse.Use, want keepalived.VIP, makesRoom func(addressuse.Holder) bool, names ...string) error {
	suits := func(h addressuse.Holder) bool {
		switch {
		case h.Kind == addressuse.Instance && slices.Contains(names, h.Name):
			return true // whose that is, is another question
		case h.Kind == addressuse.Draw || h.Kind == addressuse.Before:
			return h.IsHere() // drawn for the VIP, or left to it for as long as a bridge is there
		}
		return h.Mark.ID != "" && makesRoom(h)
	}
	for _, i := range d.addresses {
		if err := use.Refuse(addressuse.Claim{Address: want.Addresses[i].Addr(), Suits: suits}); err != nil {
			return service.At([]any{"addresses", i}, err)
		}
	}
	if !d.routerID || len(want.Addresses) == 0 {
		return nil
	}
	for _, in := range use.Instances {
		contested := in.RouterID == want.RouterID && in.Interface == d.member.Interface && in.Is4() == want.Addresses[0].Addr().Is4()
		if contested && !suits(addressuse.Holder{Kind: addressuse.Instance, Name: in.Name, Mark: in.Owner}) {
			return service.At([]any{"virtual_router_id"}, &contestedError{in, use.Machine})
		}
	}
	return nil
}

// contestedError says that another instance on an interface has the virtual router id.
type contestedError struct {
	by      keepalived.Declared
	machine string
}

func (e *contestedError) Error() string {
	return fmt.Sprintf("%d is the virtual router id of vrrp_instance %s on %s of %s already, in %s, %s: set virtual_router_id to another number from 1 to 255",
		e.by.RouterID, e.by.Name, e.by.Interface, e.machine, e.by.Place, e.by.Owner.Whose())
}

// askUse asks the demands' machines who uses their addresses, all at once; one that does not answer has an error instead.
func askUse(ctx context.Context, hosts []host.Host) ([]addressuse.Use, []error) {
	all, errs := make([]addressuse.Use, len(hosts)), make([]error, len(hosts))
	var wait sync.WaitGroup
	for i, h := range hosts {
		wait.Go(func() { all[i], errs[i] = addressuse.Look(ctx, h) })
	}
	wait.Wait()
	return all, errs
}

// listServed returns the addresses that the VIP has on one of its machines already: that is who answers for them.
func listServed(prior keepalived.VIP, uses []addressuse.Use, names ...string) []netip.Addr {
	served := prior.ListAddresses()
	for _, use := range uses {
		for _, in := range use.Instances {
			if slices.Contains(names, in.Name) {
				served = append(served, in.Addresses...)
			}
		}
	}
	return served
}

// askWire refuses addresses that another machine on the member's wire answers for, but for those that the VIP serves.
func (d demand) askWire(ctx context.Context, h host.Host, use addressuse.Use, want keepalived.VIP, served []netip.Addr, patience time.Duration) error {
	for _, i := range d.addresses {
		a := want.Addresses[i].Addr()
		if slices.Contains(served, a) {
			continue
		}
		err := use.Network.CheckOccupied(ctx, h, d.member.Interface, []netip.Prefix{netip.PrefixFrom(a, a.BitLen())}, patience)
		if occupied, is := errors.AsType[*service.AttributeError](err); is {
			return service.At([]any{"addresses", i}, &occupiedError{occupied.Err})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// occupiedError says that another machine answers for an address.
type occupiedError struct{ error }

// makeRoom is how long an apply waits for what else of this state has an address, and may be giving it up in the same apply.
const makeRoom = 30 * time.Second

// takeAddresses waits until nobody else of this state has what the change needs, and refuses what somebody else has, or another
// machine on the wire. No other state takes an address on the members' machines until done is called.
func (s *Store) takeAddresses(ctx context.Context, prior, want keepalived.VIP) (done func(), err error) {
	demands := listDemands(prior, want)
	hosts := make([]host.Host, len(demands))
	for i, d := range demands {
		if hosts[i], err = s.machines.Host(ctx, d.member.ID); err != nil {
			return nil, fmt.Errorf("no machine was changed, because not every member can be reached: %w", err)
		}
	}
	for began := time.Now(); ; {
		if done, err = s.joinTurns(ctx, hosts); err != nil {
			return nil, fmt.Errorf("no machine was changed: %w", err)
		}
		if err = refuseDemands(ctx, demands, hosts, prior, want, func(h addressuse.Holder) bool { return s.claim.Owns(h.Mark) }); err == nil {
			return done, nil
		}
		done()
		if !mayMakeRoom(err) || time.Since(began) > makeRoom {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(time.Second):
		}
	}
}

// joinTurns has this run alone take addresses on machines, each of which everybody asks for in the same order.
func (s *Store) joinTurns(ctx context.Context, hosts []host.Host) (done func(), err error) {
	var leaves []func()
	done = func() {
		for _, leave := range leaves {
			leave()
		}
	}
	ordered := slices.SortedFunc(slices.Values(hosts), func(a, b host.Host) int { return strings.Compare(a.String(), b.String()) })
	for _, h := range ordered {
		leave, err := s.machines.Turns.Join(ctx, h, addressuse.Lock)
		if err != nil {
			done()
			return nil, err
		}
		leaves = append(leaves, leave)
	}
	return done, nil
}

// refuseDemands returns why one of the demands cannot be met now.
func refuseDemands(ctx context.Context, demands []demand, hosts []host.Host, prior, want keepalived.VIP, makesRoom func(addressuse.Holder) bool) error {
	uses, errs := askUse(ctx, hosts)
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("no machine was changed, because not every member can be reached: %w", err)
	}
	for i, d := range demands {
		if err := d.refuseTaken(uses[i], want, makesRoom, prior.Name, want.Name); err != nil {
			return err
		}
	}
	served := listServed(prior, uses, prior.Name, want.Name)
	for i, d := range demands {
		if err := d.askWire(ctx, hosts[i], uses[i], want, served, hostnet.Patience); err != nil {
			return err
		}
	}
	return nil
}

// mayMakeRoom says whether all who have an address, or the one who has an id, is of this state, or on another machine and cannot be told.
func mayMakeRoom(err error) bool {
	if contested, is := errors.AsType[*contestedError](err); is {
		return contested.by.Owner.IsHere()
	}
	if taken, is := errors.AsType[*addressuse.TakenError](err); is {
		return !slices.ContainsFunc(taken.Holders, func(h addressuse.Holder) bool { return !h.IsHere() })
	}
	return errors.As(err, new(*occupiedError))
}
