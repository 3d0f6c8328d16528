package node

import (
	"context"
	"errors"
	"slices"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/machine"
	virtnetwork "github.com/virtcluster/terraform-provider-virtcluster/internal/virt/network"
)

// reserve makes the reservations what they shall be. One of an address that moves to another interface is
// taken away first, because a network holds an address once.
func (u *changer) reserve(ctx context.Context) error {
	for _, r := range u.obsolete() {
		// Only by the address: state may call a network by its id.
		if slices.ContainsFunc(u.reservations, func(x reservation) bool { return x.host.IP == r.host.IP }) {
			if err := virtnetwork.RemoveReservation(ctx, u.c, r.network, r.host); err != nil {
				return err
			}
		}
	}
	for _, r := range u.reservations {
		if err := virtnetwork.PutReservation(ctx, u.c, r.network, r.host); err != nil {
			return err
		}
	}
	return nil
}

// obsolete are the reservations of the prior version that are not wanted any more.
func (u *changer) obsolete() []reservation {
	var all []reservation
	for _, i := range u.prior.parts.Interfaces {
		if !known(i.Network) {
			continue
		}
		for _, r := range reservationsOf(&i, i.Network.ValueString()) {
			wanted := slices.ContainsFunc(u.reservations, func(x reservation) bool {
				return x.host.MAC == r.host.MAC && x.host.IP == r.host.IP && x.host.IP.Is4() || x.host == r.host
			})
			if !wanted {
				all = append(all, r)
			}
		}
	}
	return all
}

// takeBack removes the reservations and filters of new interfaces that the machine did not get, because a change failed:
// the next plan has them in it again, or nobody wants them any more.
func (u *changer) takeBack(ctx context.Context) error {
	d, err := u.c.Domain(ctx, u.d.UUID)
	if err != nil {
		return err
	}
	got := machine.Read(d.Config)
	var filters []string
	for _, i := range u.v.parts.Interfaces {
		mac := canonicalMAC(i.MAC.ValueString())
		has := func(x machine.Interface) bool { return x.MAC == mac }
		if slices.ContainsFunc(got.Interfaces, has) || slices.ContainsFunc(u.was.Interfaces, has) {
			continue
		}
		for _, r := range reservationsOf(&i, i.Network.ValueString()) {
			err = errors.Join(err, virtnetwork.RemoveReservation(ctx, u.c, r.network, r.host))
		}
		if i.PortSecurity.ValueBool() {
			filters = append(filters, filterName(u.d.Name, mac))
		}
	}
	return errors.Join(err, dropFilters(ctx, u.c, filters))
}
