// Package netinterface is one network interface of a machine that runs, as plain values: what it has of addresses, routes and name
// servers, and what makes it have that over reboots, in the way of what manages the machine's network.
package netinterface

import (
	"net/netip"
	"slices"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/hostnet"
)

// DefaultRollback is how long a machine waits to be reached again, where the configuration says nothing.
const DefaultRollback = time.Minute

// Interface is an interface as it shall be, or as it is.
type Interface struct {
	Name string
	// MTU in bytes; 0 leaves it.
	MTU int
	hostnet.Addressing
	// Backend is what keeps the configuration over reboots: one of hostnet's, or hostnet.Auto for what manages the interface.
	Backend string
	// ActiveBackend is the one that keeps it. Only read.
	ActiveBackend string
	// RollbackTimeout is how long the machine waits for the disarming before it goes back by itself.
	RollbackTimeout time.Duration
	// Active are the addresses that the interface has, whoever gave them to it, and MAC is its hardware address. Only read.
	Active []netip.Prefix `json:"-"`
	MAC    string         `json:"-"`
}

// Validate finds what no machine would take.
func (i Interface) Validate() []service.Problem {
	problems := i.Addressing.Validate()
	if !hostnet.ValidDevice(i.Name) {
		problems = append(problems, service.Problemf([]any{"name"}, "Invalid interface name", "write 1 to 15 letters, digits, dots, dashes or underscores, not %q", i.Name))
	}
	if i.Backend == hostnet.Runtime {
		problems = append(problems, i.WithoutManager()...)
	}
	for n, r := range i.Routes {
		at := []any{"routes", n, "via"}
		switch {
		case !r.To.IsValid():
		case r.To != r.To.Masked():
			problems = append(problems, service.Problemf([]any{"routes", n, "cidr"}, "Invalid network", "%s is an address in a network: write %s", r.To, r.To.Masked()))
		case r.Via.IsValid() && r.Via.Is4() != r.To.Addr().Is4():
			problems = append(problems, service.Problemf(at, "Invalid gateway", "%s is of another family than %s", r.Via, r.To))
		case r.Via.IsValid() && !i.DHCP && !r.Via.IsLinkLocalUnicast() && !i.hasInside(r.Via):
			problems = append(problems, service.Problemf(at, "Gateway outside the subnet", "%s is in none of the subnets of %v", r.Via, i.Addresses))
		}
		if slices.ContainsFunc(i.Routes[:n], func(o hostnet.StaticRoute) bool { return o.To == r.To && o.Metric == r.Metric }) {
			problems = append(problems, service.Problemf([]any{"routes", n, "cidr"}, "Duplicate route", "%s is listed twice: give one of them a metric", r.To))
		}
	}
	return problems
}

func (i Interface) hasInside(a netip.Addr) bool {
	return slices.ContainsFunc(i.Addresses, func(p netip.Prefix) bool { return p.Contains(a) })
}
