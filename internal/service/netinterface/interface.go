// Package netinterface is one network interface of a machine that runs, as plain values: what it has of addresses, routes and name
// servers, and what makes it have that over reboots, in the way of what manages the machine's network.
package netinterface

import (
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/plan"
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
	MAC    string         `json:"-" attr:"mac,zero"`
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

// Uses implements plan.User: an interface has one configuration.
func (i Interface) Uses() []plan.Use {
	return append(i.Addressing.ListUses(plan.InterfaceAddress, i.Name), plan.Use{Kind: plan.Device, Value: i.Name, Path: []any{"name"}})
}

// Describe implements plan.Described.
func (i Interface) Describe(string) string {
	if i.DHCP {
		return fmt.Sprintf("interface %q with DHCP", i.Name)
	}
	return fmt.Sprintf("interface %q with %q", i.Name, i.Addresses)
}

// Record is what the machine keeps of an interface that this provider configured. Before is the interface alone.
type Record hostnet.Record[Interface]

// deviceBefore is what the interface had when this provider took it.
func (r Record) deviceBefore() (b hostnet.DeviceSnapshot) {
	if len(r.Before) > 0 {
		b = r.Before[0]
	}
	return b
}

// toDesired is what is desired of the machine's devices for the interface.
func (r Record) toDesired() hostnet.Desired {
	return hostnet.Desired{Backend: r.Want.ActiveBackend, Mark: r.Mark, Devices: []hostnet.Device{{Name: r.Want.Name, MTU: r.Want.MTU, Addressing: r.Want.Addressing, Before: r.deviceBefore()}}}
}

// readInterface is the interface as the machine has it: of what was configured, what is there.
func (r Record) readInterface(m hostnet.Machine) Interface {
	i := r.Want
	link, _ := m.Link(i.Name)
	i.Active, i.MAC = m.Prefixes(i.Name), link.Address
	if i.MTU != 0 {
		i.MTU = link.MTU
	}
	has := m.Settings(i.Name)
	for _, p := range i.Active {
		has = append(has, hostnet.AddressSetting(p)) // of which a router may advertise one
	}
	lost := func(s hostnet.Setting) bool { return !slices.ContainsFunc(has, s.Meant) }
	i.Addresses = slices.DeleteFunc(slices.Clone(i.Addresses), func(p netip.Prefix) bool { return lost(hostnet.AddressSetting(p)) })
	i.Gateways = slices.DeleteFunc(slices.Clone(i.Gateways), func(g netip.Addr) bool { return lost(hostnet.RouteSetting(hostnet.Everywhere(g), g, i.Metric)) })
	i.Routes = slices.DeleteFunc(slices.Clone(i.Routes), func(s hostnet.StaticRoute) bool { return lost(hostnet.RouteSetting(s.To, s.Via, s.Metric)) })
	if i.DHCP && len(m.Addressing(i.Name).Addresses) == 0 && !m.Addressing(i.Name).DHCP {
		i.DHCP = false // no lease, and nothing that asks for one
	}
	return i
}
