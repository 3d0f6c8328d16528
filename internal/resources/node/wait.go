package node

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
)

// await waits for what the node is to have before it counts as made.
func (n *node) await(ctx context.Context, c *hypervisor.Client, v *version, before leases) error {
	how := v.WaitFor.ValueString()
	if how == "none" || !v.Running.ValueBool() {
		return nil
	}
	pause := 250 * time.Millisecond
	for {
		missing, err := n.missing(ctx, c, v, how, before)
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
func (n *node) missing(ctx context.Context, c *hypervisor.Client, v *version, how string, before leases) ([]string, error) {
	var byMAC map[string][]netip.Addr
	var missing []string
	if how == "guest_agent" {
		answered, err := c.GuestAddresses(ctx, v.ID.ValueString())
		if hypervisor.Code(err) != 0 && !hypervisor.IsNotFound(err) {
			return []string{"the guest agent"}, nil
		}
		if err != nil {
			return nil, err
		}
		byMAC = answered
	}
	for _, i := range v.parts.Interfaces {
		mac := canonicalMAC(i.MAC.ValueString())
		if how == "lease" {
			v4, v6 := asksDHCP(&i)
			if !known(i.Network) || !v4 && !v6 {
				continue
			}
			leased, err := n.leased(ctx, c, i.Network.ValueString(), mac, before)
			if err != nil {
				return nil, err
			}
			if leased == nil {
				continue
			}
			byMAC = map[string][]netip.Addr{mac: *leased}
		}
		if len(byMAC[mac]) == 0 {
			missing = append(missing, "an address of "+i.Name.ValueString()+" ("+mac+")")
		}
	}
	return missing, nil
}

// leases are when the leases that an interface has already run out, by network, MAC address and address: DHCP remembers
// the machine that had the MAC address before. They are asked for where they are waited for.
func (n *node) leases(ctx context.Context, c *hypervisor.Client, v *version) (leases, error) {
	before := leases{}
	if v.WaitFor.ValueString() != "lease" {
		return before, nil
	}
	asked := map[string]bool{}
	for _, i := range v.parts.Interfaces {
		if !known(i.Network) || asked[i.Network.ValueString()] {
			continue
		}
		asked[i.Network.ValueString()] = true
		all, err := c.Leases(ctx, i.Network.ValueString())
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
func (n *node) leased(ctx context.Context, c *hypervisor.Client, network, mac string, before leases) (*[]netip.Addr, error) {
	leases, err := c.Leases(ctx, network)
	if err != nil {
		return nil, err
	}
	found := []netip.Addr{}
	for _, l := range leases {
		if l.MAC == mac && !before.old(l) {
			found = append(found, l.IP)
		}
	}
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
