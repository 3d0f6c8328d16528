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

// awaitReady waits for what the node is to have before it counts as made.
func (s *Store) awaitReady(ctx context.Context, want *Spec, before leases) error {
	how := want.WaitFor
	if how == "none" || !want.Running {
		return nil
	}
	pause := 250 * time.Millisecond
	for {
		missing, err := s.listMissing(ctx, want, how, before)
		if err != nil && ctx.Err() == nil {
			return err
		}
		if err == nil && len(missing) == 0 {
			return nil
		}
		if err := hypervisor.Pause(ctx, pause); err != nil {
			return fmt.Errorf("%s: gave up waiting for %s: %w; look at its console, or raise timeouts.create", how, strings.Join(missing, ", "), err)
		}
		pause = min(pause*3/2, 3*time.Second)
	}
}

// listMissing returns what a new machine still has to have before it counts as made, in words for a message.
func (s *Store) listMissing(ctx context.Context, want *Spec, how string, before leases) ([]string, error) {
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
			got, err := findLeased(ctx, s.client, i.Network, i.MAC, before)
			if err != nil {
				return nil, err
			}
			if got == nil {
				continue
			}
			byMAC = map[string][]netip.Addr{i.MAC: *got}
		}
		if lack := i.missingAddress(byMAC[i.MAC]); lack != "" {
			missing = append(missing, lack)
		}
	}
	return missing, nil
}

// missingAddress returns what is still waited for of an interface that has these addresses; "" for nothing. The address that the
// interface asks for is waited for even where it has another one: DHCP gives out any while another machine's lease of the right
// one runs on.
func (i *InterfaceSpec) missingAddress(got []netip.Addr) string {
	who := i.Name + " (" + i.MAC + ")"
	if len(got) == 0 {
		return "an address of " + who
	}
	for _, wanted := range []netip.Addr{i.IP, i.IPv6} {
		if wanted.IsValid() && !slices.Contains(got, wanted) && slices.ContainsFunc(got, func(a netip.Addr) bool { return a.Is4() == wanted.Is4() }) {
			return fmt.Sprintf("address %s of %s, which has %s", wanted, who, preferIPv4(got))
		}
	}
	return ""
}

// listLeases returns when the leases of a machine's interfaces run out that DHCP has from before, by network, MAC address and
// address: it remembers the machine that had the MAC address then. Nothing is asked where the create does not wait for a lease.
func (s *Store) listLeases(ctx context.Context, want *Spec) (leases, error) {
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
			before[leaseKey{l.MAC, l.IP}] = l.Expires
		}
	}
	return before, nil
}

// leases are when leases run out.
type leases map[leaseKey]time.Time

type leaseKey struct {
	mac string
	ip  netip.Addr
}

// isStale says whether a lease was there before and was not renewed since. One that never runs out tells nothing.
func (before leases) isStale(l hypervisor.Lease) bool {
	was, had := before[leaseKey{l.MAC, l.IP}]
	return had && was.Unix() > 0 && !l.Expires.After(was)
}

// findLeased returns the addresses that a network's DHCP gave to an interface since before, by its MAC address; nil where the
// network has no DHCP.
func findLeased(ctx context.Context, c *hypervisor.Client, network, mac string, before leases) (*[]netip.Addr, error) {
	leases, err := c.Leases(ctx, network)
	if err != nil {
		return nil, err
	}
	found := listLeasedAddresses(leases, mac, before)
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

// listLeasedAddresses returns the addresses of those of the leases that a MAC address has, without old ones.
func listLeasedAddresses(all []hypervisor.Lease, mac string, before leases) []netip.Addr {
	found := []netip.Addr{}
	for _, l := range all {
		if l.MAC == mac && !before.isStale(l) {
			found = append(found, l.IP)
		}
	}
	return found
}
