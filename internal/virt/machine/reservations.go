package machine

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/hashicorp/terraform-plugin-log/tflog"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/network"
)

// reservationsOf are those that a machine has on a network. They are not marked as being made: the domain, which is there before them,
// is.
func reservationsOf(c *hypervisor.Client, claim owner.Claim, on string) network.Reservations {
	return network.Reservations{Client: c, Network: on, Owner: claim.Finished(), OfMachine: true}
}

// removeReservation takes a machine's reservation away. One that the machine used as it was found, and one that became somebody
// else's, stays: that is no reason to keep the machine.
func removeReservation(ctx context.Context, c *hypervisor.Client, claim owner.Claim, r Reservation) error {
	err := reservationsOf(c, claim, r.Network).Remove(ctx, r.Host)
	var foreign *owner.ForeignError
	if errors.As(err, &foreign) {
		tflog.Warn(ctx, "a reservation that the node did not make stays", map[string]any{"reservation": r.Host.String(), "network": r.Network, "reason": err.Error()})
		return nil
	}
	return err
}

// findReservations finds the reservations that networks hold for a machine's MAC addresses, and for the names in its mark.
func findReservations(ctx context.Context, c *hypervisor.Client, m *Machine) ([]Reservation, error) {
	var all []Reservation
	for _, i := range m.Interfaces {
		if i.Network == "" {
			continue
		}
		n, err := c.Network(ctx, i.Network)
		if hypervisor.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		marked := m.Mark.Interface(i.MAC)
		for _, h := range hypervisor.DHCPHosts(n.Current()) {
			if h.MAC == i.MAC || isKeptFor(h, marked) {
				all = append(all, Reservation{i.Network, h})
			}
		}
	}
	return slices.Compact(all), nil
}

// isKeptFor says whether a reservation is the one of IPv6 that an interface's mark speaks of.
func isKeptFor(h hypervisor.DHCPHost, k MarkedInterface) bool {
	return k.IPv6 != "" && h.IP.Is6() && h.Name == k.Hostname
}

// leavingPatience is how long an apply waits for an address that another machine has reserved and may be about to give up in the
// same apply: because it is being destroyed, where its guest may take its time to shut down, or because it gets another address.
const leavingPatience = 30 * time.Second

// makeReservation makes a reservation by put. Where another machine of the same workspace has its address, it waits for that machine to
// give it up, which the plan has made sure of: for leavingPatience, and for as long as this process is destroying machines, since one
// has its turn after the others where many go. Before it waits it calls makeWay, as the other machine may wait for an address of this
// one.
func (s *Store) makeReservation(ctx context.Context, r Reservation, put func(network.Reservations, context.Context, hypervisor.DHCPHost) error, makeWay func() error) error {
	began := time.Now()
	for {
		refused := put(reservationsOf(s.client, s.claim, r.Network), ctx, r.Host)
		if refused == nil {
			return nil
		}
		holder, err := s.findHolder(ctx, r)
		if err != nil || holder == nil || holder.Key() == r.Host.Key() {
			return refused // it is another refusal
		}
		if sameWorkspace, err := s.isOfSameWorkspace(ctx, *holder); err != nil || !sameWorkspace {
			return errors.Join(refused, err)
		}
		if err := makeWay(); err != nil {
			return errors.Join(refused, err)
		}
		if time.Since(began) > leavingPatience && time.Since(s.cache.lastDestroy()) > leavingPatience {
			return refused
		}
		if err := hypervisor.Pause(ctx, 200*time.Millisecond); err != nil {
			return errors.Join(refused, err)
		}
	}
}

// findHolder finds the other reservation that has a reservation's address or name; nil where there is none.
func (s *Store) findHolder(ctx context.Context, r Reservation) (*hypervisor.DHCPHost, error) {
	n, err := s.client.Network(ctx, r.Network)
	if err != nil {
		return nil, err
	}
	for _, h := range hypervisor.DHCPHosts(n.Current()) {
		if h != r.Host && (h.IP == r.Host.IP || network.SameName(r.Host, h)) {
			return &h, nil
		}
	}
	return nil, nil
}

// isOfSameWorkspace says whether a reservation is that of a machine whose mark has the same workspace as this one.
func (s *Store) isOfSameWorkspace(ctx context.Context, h hypervisor.DHCPHost) (bool, error) {
	all, err := s.client.Domains(ctx)
	if err != nil {
		return false, err
	}
	own := s.claim.Mark().Workspace
	return own != "" && isReservedBy(all, h, func(m owner.Mark) bool { return m.Workspace == own }), nil
}

// isReservedBy says whether a reservation is for a machine whose mark is one of some.
func isReservedBy(all []*hypervisor.Domain, h hypervisor.DHCPHost, is func(owner.Mark) bool) bool {
	return slices.ContainsFunc(all, func(d *hypervisor.Domain) bool {
		m := Read(d.Config)
		return is(m.Mark.ownerMark()) && slices.ContainsFunc(m.Interfaces, func(i Interface) bool {
			return i.MAC == h.MAC || isKeptFor(h, m.Mark.Interface(i.MAC))
		})
	})
}

// reserveAddresses makes the reservations what they shall be. One of an address that moves to another interface is taken away
// first, because a network holds an address once; so are all that are not wanted any more where another machine has an address
// that is: it may wait for one of them.
func (u *update) reserveAddresses(ctx context.Context) error {
	obsolete := u.listObsoleteReservations()
	u.releaseObsoleteLeases(ctx, obsolete)
	remove := func(which func(Reservation) bool) error {
		for _, r := range obsolete {
			if !which(r) {
				continue
			}
			if err := removeReservation(ctx, u.c, u.store.claim, r); err != nil {
				return err
			}
			u.onFailure(func(ctx context.Context) error { return u.putBack(ctx, r) })
		}
		obsolete = slices.DeleteFunc(obsolete, which)
		return nil
	}
	// Only by the address: state may call a network by its id.
	err := remove(func(r Reservation) bool {
		return slices.ContainsFunc(u.reservations, func(x Reservation) bool { return x.Host.IP == r.Host.IP })
	})
	if err != nil {
		return err
	}
	makeWay := func() error { return remove(func(Reservation) bool { return true }) }
	for _, r := range u.reservations {
		former := u.findFormerReservation(r)
		if err := u.store.makeReservation(ctx, r, network.Reservations.Put, makeWay); err != nil {
			return err
		}
		switch {
		case former == nil:
			u.onFailure(func(ctx context.Context) error { return u.removeUnplugged(ctx, r) })
		case former.Host != r.Host:
			u.onFailure(func(ctx context.Context) error { return u.putBack(ctx, *former) })
		}
	}
	return nil
}

// releaseObsoleteLeases gives back what was leased for reservations that are not wanted any more: a lease outlives its reservation, and
// keeps its address from the next machine, or the next card of this one, that is to get it. An interface that a running guest keeps on
// the network goes on with what it has until it asks again.
func (u *update) releaseObsoleteLeases(ctx context.Context, obsolete []Reservation) {
	for _, r := range obsolete {
		on, err := u.store.cache.NetworkName(ctx, u.c, r.Network)
		if err != nil {
			continue // it is gone, with its leases
		}
		used := u.d.Active() && slices.ContainsFunc(u.machine.Interfaces, func(i Interface) bool { return i.MAC == r.Host.MAC && i.Network == on })
		if r.Host.MAC != "" && !used {
			releaseLeases(ctx, u.c, []Interface{{Network: on, MAC: r.Host.MAC}})
		}
	}
}

// findFormerReservation returns what the machine of a reservation had of the same family before the change; nil for nothing.
func (u *update) findFormerReservation(r Reservation) *Reservation {
	for n := range u.was.Interfaces {
		i := &u.was.Interfaces[n]
		for _, former := range i.networkReservations(i.Network) {
			sameName := r.Host.MAC == "" && former.Host.Name == r.Host.Name
			if i.Network != "" && former.Host.MAC == r.Host.MAC && (r.Host.MAC != "" || sameName) {
				return &former
			}
		}
	}
	return nil
}

// removeUnplugged takes a new reservation back, unless the machine got the interface that it is for: the next plan has that in
// it again, or nobody wants it any more.
func (u *update) removeUnplugged(ctx context.Context, r Reservation) error {
	d, err := u.c.Domain(ctx, u.d.UUID)
	if err != nil {
		return err
	}
	isFor := func(i Interface) bool {
		return i.MAC == r.Host.MAC || r.Host.MAC == "" && isKeptFor(r.Host, u.machine.Mark.Interface(i.MAC))
	}
	got := slices.ContainsFunc(Read(d.Config).Interfaces, isFor)
	if got && !slices.ContainsFunc(u.existing.Interfaces, isFor) {
		return nil
	}
	return removeReservation(ctx, u.c, u.store.claim, r)
}

// putBack makes a reservation again that a change has removed or altered.
func (u *update) putBack(ctx context.Context, r Reservation) error {
	return reservationsOf(u.c, u.store.claim, r.Network).Put(ctx, r.Host)
}

// listObsoleteReservations returns those of the prior version that are not wanted any more.
func (u *update) listObsoleteReservations() []Reservation {
	var all []Reservation
	for n := range u.was.Interfaces {
		i := &u.was.Interfaces[n]
		if i.Network == "" {
			continue
		}
		for _, r := range i.networkReservations(i.Network) {
			wanted := slices.ContainsFunc(u.reservations, func(x Reservation) bool {
				return x.Host.MAC == r.Host.MAC && x.Host.IP == r.Host.IP && x.Host.IP.Is4() || x.Host == r.Host
			})
			if !wanted {
				all = append(all, r)
			}
		}
	}
	return all
}
