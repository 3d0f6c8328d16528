// Package bridge is a host bridge with physical interfaces in it, as plain values, and what makes it
// and takes it apart again without losing the machine.
package bridge

import (
	"net/netip"
	"regexp"
	"slices"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/hostnet"
)

// Bridge is a host bridge as it shall be, or as it is.
type Bridge struct {
	// Name of the device, at most 15 bytes.
	Name string
	// Interfaces are the physical interfaces in it, in order; the first one's MAC becomes the bridge's.
	Interfaces []string
	STP        bool
	// MTU in bytes; 0 leaves what the interfaces have.
	MTU int
	// Inherit moves the interfaces' addresses and routes to the bridge; otherwise Addresses and Gateway
	// are set and the interfaces' own go.
	Inherit bool
	// DHCP has the bridge ask for its address.
	DHCP      bool
	Addresses []netip.Prefix
	Gateway   netip.Addr
	// Metric of the default route; 0 leaves it to the kernel.
	Metric int
	// Nameservers and Search come with the addresses.
	Nameservers []netip.Addr
	Search      []string
	// Backend is what keeps the bridge over reboots: one of hostnet's, or hostnet.Auto for what manages the interfaces.
	Backend string
	// ActiveBackend is the one that keeps it. Only read.
	ActiveBackend string
	// RollbackTimeout is how long the machine waits for the disarming before it goes back by itself.
	RollbackTimeout time.Duration
	// Active are the addresses that the bridge has, whoever gave them to it. Only read.
	Active []netip.Prefix
}

// deviceName is what the kernel takes for a device, without what would need quoting in a batch file.
var deviceName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,14}$`)

var searchDomain = regexp.MustCompile(`^[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9])?\.?$`)

// Validate finds what no machine would take.
func (b Bridge) Validate() []service.Problem {
	var problems []service.Problem
	if !deviceName.MatchString(b.Name) {
		problems = append(problems, service.Problemf([]any{"name"}, "Invalid bridge name",
			"write 1 to 15 letters, digits, dots, dashes or underscores, not %q", b.Name))
	}
	if len(b.Interfaces) == 0 {
		problems = append(problems, service.Problemf([]any{"interfaces"}, "No interface", "name at least one physical interface"))
	}
	for i, name := range b.Interfaces {
		if !deviceName.MatchString(name) || name == b.Name {
			problems = append(problems, service.Problemf([]any{"interfaces", i}, "Invalid interface", "%q cannot be an interface of bridge %q", name, b.Name))
		}
		if slices.Index(b.Interfaces, name) != i {
			problems = append(problems, service.Problemf([]any{"interfaces", i}, "Duplicate interface", "%q is listed twice", name))
		}
	}
	for i, a := range b.Addresses {
		if slices.Index(b.Addresses, a) != i {
			problems = append(problems, service.Problemf([]any{"addresses"}, "Duplicate address", "%s is listed twice", a))
		}
	}
	if b.Inherit && b.Gateway.IsValid() {
		problems = append(problems, service.Problemf([]any{"gateway"}, "Gateway without addresses",
			"the default route is inherited with the addresses: leave gateway out, or list the addresses"))
	}
	if b.DHCP && b.Gateway.IsValid() {
		problems = append(problems, service.Problemf([]any{"gateway"}, "Gateway beside DHCP", "the default route comes with the address: leave gateway out, or list the addresses"))
	}
	if b.Backend == hostnet.Runtime {
		if b.DHCP {
			problems = append(problems, service.Problemf([]any{"addresses"}, "DHCP without a network manager", "backend \"runtime\" has no DHCP client: list the addresses, or choose another backend"))
		}
		if len(b.Nameservers)+len(b.Search) > 0 {
			problems = append(problems, service.Problemf([]any{"nameservers"}, "Name servers without a network manager", "backend \"runtime\" keeps no name servers: leave nameservers and search out, or choose another backend"))
		}
	}
	for i, domain := range b.Search {
		if !searchDomain.MatchString(domain) {
			problems = append(problems, service.Problemf([]any{"search", i}, "Invalid domain", "%q is no domain", domain))
		}
	}
	if !b.Inherit && !b.DHCP && b.Gateway.IsValid() && !slices.ContainsFunc(b.Addresses, func(p netip.Prefix) bool { return p.Contains(b.Gateway) }) {
		problems = append(problems, service.Problemf([]any{"gateway"}, "Gateway outside the subnet", "%s is in none of the subnets of %v", b.Gateway, b.Addresses))
	}
	if b.Metric != 0 && !b.Gateway.IsValid() && !b.DHCP {
		problems = append(problems, service.Problemf([]any{"metric"}, "Metric without gateway", "a metric belongs to the default route: set gateway, or leave metric out"))
	}
	return problems
}
