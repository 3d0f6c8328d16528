package machine

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
)

// await waits for what the node is to have before it counts as made.
func (s *Store) await(ctx context.Context, want *Spec, before leases) error {
	how := want.WaitFor
	if how == "none" || !want.Running {
		return nil
	}
	pause := 250 * time.Millisecond
	for {
		missing, err := s.missing(ctx, want, how, before)
		if err != nil && ctx.Err() == nil {
			return err
		}
		if err == nil && len(missing) == 0 {
			return nil
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return fmt.Errorf("%s: gave up waiting for %s: %w; look at its console, or raise timeouts.create", how, strings.Join(missing, ", "), context.Cause(ctx))
		case <-timer.C:
		}
		pause = min(pause*3/2, 3*time.Second)
	}
}

// missing says what is still waited for.
func (s *Store) missing(ctx context.Context, want *Spec, how string, before leases) ([]string, error) {
	var byMAC map[string][]netip.Addr
	var missing []string
	if how == "guest_agent" {
		answered, err := s.client.GuestAddresses(ctx, want.UUID)
		if hypervisor.Code(err) != 0 && !hypervisor.IsNotFound(err) {
			return []string{"the guest agent"}, nil
		}
		if err != nil {
			return nil, err
		}
		byMAC = answered
	}
	for n := range want.Interfaces {
		i := &want.Interfaces[n]
		if how == "lease" {
			v4, v6 := i.asksDHCP()
			if i.Network == "" || !v4 && !v6 {
				continue
			}
			got, err := leased(ctx, s.client, i.Network, i.MAC, before)
			if err != nil {
				return nil, err
			}
			if got == nil {
				continue
			}
			byMAC = map[string][]netip.Addr{i.MAC: *got}
		}
		if lack := i.lacks(byMAC[i.MAC]); lack != "" {
			missing = append(missing, lack)
		}
	}
	return missing, nil
}

// lacks says what an interface that has these addresses is still waited for; "" for nothing. An address that was asked for is
// waited for, be there others: DHCP gives out any while another machine's lease of it runs on.
func (i *InterfaceSpec) lacks(got []netip.Addr) string {
	who := i.Name + " (" + i.MAC + ")"
	if len(got) == 0 {
		return "an address of " + who
	}
	for _, text := range []string{i.IP, i.IPv6} {
		wanted, err := netip.ParseAddr(text)
		if err == nil && !slices.Contains(got, wanted) && slices.ContainsFunc(got, func(a netip.Addr) bool { return a.Is4() == wanted.Is4() }) {
			return fmt.Sprintf("address %s of %s, which has %s", wanted, who, preferred(got))
		}
	}
	return ""
}

// leases are when the leases that an interface has already run out, by network, MAC address and address: DHCP remembers
// the machine that had the MAC address before. They are asked for where they are waited for.
func (s *Store) leases(ctx context.Context, want *Spec) (leases, error) {
	before := leases{}
	if want.WaitFor != "lease" {
		return before, nil
	}
	asked := map[string]bool{}
	for _, i := range want.Interfaces {
		if i.Network == "" || asked[i.Network] {
			continue
		}
		asked[i.Network] = true
		all, err := s.client.Leases(ctx, i.Network)
		if err != nil {
			return nil, err
		}
		for _, l := range all {
			before[leaseOf{l.MAC, l.IP}] = l.Expires
		}
	}
	return before, nil
}

// leases are when leases run out.
type leases map[leaseOf]time.Time

type leaseOf struct {
	mac string
	ip  netip.Addr
}

// old says whether a lease was there before and was not renewed since. One that never runs out tells nothing.
func (before leases) old(l hypervisor.Lease) bool {
	was, had := before[leaseOf{l.MAC, l.IP}]
	return had && was.Unix() > 0 && !l.Expires.After(was)
}

// leased are the addresses that a network's DHCP gave to an interface since before, by its MAC address; nil where the
// network has no DHCP.
func leased(ctx context.Context, c *hypervisor.Client, network, mac string, before leases) (*[]netip.Addr, error) {
	leases, err := c.Leases(ctx, network)
	if err != nil {
		return nil, err
	}
	found := addressesOf(leases, mac, before)
	if len(found) > 0 {
		return &found, nil
	}
	got, err := c.Network(ctx, network)
	if err != nil {
		return nil, err
	}
	for _, ip := range got.Current().IPs {
		if ip.DHCP != nil {
			return &found, nil
		}
	}
	return nil, nil
}

// addressesOf are the addresses of those of the leases that a MAC address has, without old ones.
func addressesOf(all []hypervisor.Lease, mac string, before leases) []netip.Addr {
	found := []netip.Addr{}
	for _, l := range all {
		if l.MAC == mac && !before.old(l) {
			found = append(found, l.IP)
		}
	}
	return found
}
