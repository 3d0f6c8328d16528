package machine

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"time"

	"libvirt.org/go/libvirtxml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
)

// findReaddressedInterfaces returns the interfaces of a node that goes on running for which a network is to keep another IPv4 address
// than before: theirs, or another one that they are plugged into now.
func findReaddressedInterfaces(was, want *Spec) []int {
	if !was.Runs() || !want.Running {
		return nil
	}
	var all []int
	for n, i := range want.Interfaces {
		moved := func(old InterfaceSpec) bool {
			moves := movesNetwork(old.Network, i.Network) || old.Network != "" && old.IP.IsValid() && old.IP != i.IP
			onOVN := old.OVNNetwork != "" && (old.OVNNetwork != i.OVNNetwork || old.IP != i.IP)
			return old.MAC == i.MAC && i.IP.IsValid() && (moves || onOVN)
		}
		if slices.ContainsFunc(was.Interfaces, moved) {
			all = append(all, n)
		}
	}
	return all
}

// movesNetwork says whether two references are to two networks for sure: a state may have the id of one, and the configuration its name.
func movesNetwork(was, want string) bool {
	return was != want && hypervisor.IsUUID(was) == hypervisor.IsUUID(want)
}

// renewAddresses has a guest that goes on running ask DHCP again where its network keeps another address for it now: its network
// card loses its link for a moment. A guest that does not heed that keeps the address that it has until its lease asks for it.
func (u *update) renewAddresses(ctx context.Context) error {
	if u.mustRestart || u.restart || !u.d.Active() {
		return nil
	}
	u.releaseObsoleteLeases(ctx, u.listObsoleteReservations()) // those of networks that an interface has left
	var errs []error
	for _, n := range findReaddressedInterfaces(u.was, u.want) {
		i := &u.want.Interfaces[n]
		if i.OVNNetwork != "" {
			errs = append(errs, u.flapLink(ctx, i.MAC)) // OVN keeps no leases that could say more
			continue
		}
		errs = append(errs, u.renewAddress(ctx, i))
	}
	return errors.Join(errs...)
}

const (
	// heedPatience is how long a guest may take to ask DHCP after its link came back: systemd-networkd takes less than a second.
	heedPatience = 8 * time.Second
	// renewPatience is how long a guest that does so may be without its address, as another one has it that is to leave it.
	renewPatience = leavingPatience
	renewInterval = 250 * time.Millisecond
)

// renewAddress has the guest ask DHCP for the address of an interface, and returns when the guest has leased it or will not before
// its lease runs out. A guest without a lease in a subnet that stays is not asked: it has addresses of its own. A guest that found
// its new address taken still, by a machine that is about to leave it, and drew another one meanwhile, is asked once more.
func (u *update) renewAddress(ctx context.Context, i *InterfaceSpec) error {
	want := i.IP
	stays, draws, err := u.lookAtSubnet(ctx, i, want)
	if err != nil {
		return err
	}
	var asked time.Time   // when the link came back
	var before netip.Addr // what the guest had then
	flaps := 0
	for began := time.Now(); ctx.Err() == nil && time.Since(began) < renewPatience; time.Sleep(renewInterval) {
		leases, err := u.c.Leases(ctx, i.Network)
		if err != nil {
			return err
		}
		has, taken := findLease(leases, i.MAC), slices.ContainsFunc(leases, func(l hypervisor.Lease) bool { return l.MAC != i.MAC && l.IP == want })
		switch {
		case has == want, flaps == 0 && stays && !has.IsValid():
			return nil
		case flaps == 0 && taken && (!draws || time.Since(began) < heedPatience/2):
			// Whoever has it may be about to leave it. Where the subnet has no range to draw another one from meanwhile, the guest would
			// lose the address that it has for nothing.
		case flaps == 0, flaps == 1 && has.IsValid() && has != before && !taken:
			before = has
			if err := u.flapLink(ctx, i.MAC); err != nil {
				return err
			}
			flaps, asked = flaps+1, time.Now()
		case has == before && time.Since(asked) > heedPatience:
			return nil
		}
	}
	return nil
}

// findLease returns the IPv4 address that a MAC address has leased; an invalid one is none.
func findLease(leases []hypervisor.Lease, mac string) netip.Addr {
	for _, l := range leases {
		if l.MAC == mac && l.IP.Is4() {
			return l.IP
		}
	}
	return netip.Addr{}
}

// lookAtSubnet says of the subnet of an interface's new address whether the address before it is in there too, and whether it gives out
// addresses that nobody has reserved.
func (u *update) lookAtSubnet(ctx context.Context, i *InterfaceSpec, want netip.Addr) (stays, draws bool, err error) {
	n, err := u.c.Network(ctx, i.Network)
	if err != nil {
		return false, false, err
	}
	draws = lendsAddresses(n, want)
	for _, x := range n.Current().IPs {
		subnet, err := hypervisor.Subnet(x)
		if err != nil || !subnet.Contains(want) {
			continue
		}
		stays = slices.ContainsFunc(u.was.Interfaces, func(old InterfaceSpec) bool {
			return old.MAC == i.MAC && !movesNetwork(old.Network, i.Network) && subnet.Contains(old.IP)
		})
	}
	return stays, draws, nil
}

// linkPause is how long a link is down: a guest that looks now and then is to see it.
const linkPause = time.Second

// flapLink takes the link of an interface down and up again, of what runs alone: a restart has it up wherever this ends. One that somebody took
// down stays so.
func (u *update) flapLink(ctx context.Context, mac string) error {
	d, err := u.c.Domain(ctx, u.d.UUID)
	if err != nil {
		return err
	}
	x := FindInterface(d.Live, mac)
	if x == nil || x.Link != nil && x.Link.State == "down" {
		return nil
	}
	set := func(ctx context.Context, state string) error {
		changed := *x
		changed.Link = &libvirtxml.DomainInterfaceLink{State: state}
		return u.c.UpdateRunningDevice(ctx, u.d.UUID, &changed)
	}
	if err := set(ctx, "down"); err != nil {
		return err
	}
	time.Sleep(linkPause)
	return set(context.WithoutCancel(ctx), "up")
}
