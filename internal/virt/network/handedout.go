package network

import (
	"context"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
)

// HandedOut is a run of addresses that a network on a hypervisor gives out by DHCP.
type HandedOut struct {
	Network string
	Range   Range
	// For is the machine that a single address is kept for; "" where the run is for anybody.
	For string
}

// ListHandedOut returns what the networks on a hypervisor give out, ranges and reservations, as one plan sees them.
func ListHandedOut(ctx context.Context, c *hypervisor.Client) ([]HandedOut, error) {
	networks, err := c.PlanNetworks(ctx)
	if err != nil {
		return nil, err
	}
	var all []HandedOut
	for _, n := range networks {
		parsed, err := Parse(n.ConfigXML)
		if err != nil || parsed.DHCP == nil {
			continue
		}
		for _, run := range parsed.DHCP.Ranges {
			all = append(all, HandedOut{Network: n.Name, Range: run})
		}
		for _, h := range hypervisor.DHCPHosts(n.Current()) {
			all = append(all, HandedOut{Network: n.Name, Range: Range{Start: h.IP, End: h.IP}, For: h.String()})
		}
	}
	return all, nil
}
