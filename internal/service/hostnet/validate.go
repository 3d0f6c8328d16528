package hostnet

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// deviceName is what the kernel takes for a device, without what would need quoting in a batch file.
var deviceName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,14}$`)

// ValidDevice says whether a name can be a device's.
func ValidDevice(name string) bool { return deviceName.MatchString(name) }

var searchDomain = regexp.MustCompile(`^[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9])?\.?$`)

// ValidDomain says whether a text can be a domain.
func ValidDomain(name string) bool { return len(name) <= 253 && searchDomain.MatchString(name) }

// Validate finds what is wrong with addresses, gateways and name servers, at the attributes of a resource that has them.
func (a Addressing) Validate() []service.Problem {
	var problems []service.Problem
	for i, p := range a.Addresses {
		if slices.Index(a.Addresses, p) != i {
			problems = append(problems, service.Problemf([]any{"addresses"}, "Duplicate address", "%s is listed twice", p))
		}
		if ip := p.Addr(); ip.IsMulticast() || ip.IsUnspecified() || ip.IsLoopback() {
			problems = append(problems, service.Problemf([]any{"addresses"}, "Invalid address", "%s is no address that a network interface can have", p))
		}
	}
	for i, g := range a.Gateways {
		at := []any{"gateway"}
		if len(a.Gateways) > 1 {
			at = []any{"gateways", i}
		}
		switch {
		case a.DHCP && g.Is4():
			problems = append(problems, service.Problemf(at, "Gateway beside DHCP", "the default route comes with the address: leave gateway out, or list the addresses"))
		case !a.DHCP && !g.IsLinkLocalUnicast() && !slices.ContainsFunc(a.Addresses, func(p netip.Prefix) bool { return p.Contains(g) }):
			problems = append(problems, service.Problemf(at, "Gateway outside the subnet", "%s is in none of the subnets of %v", g, a.Addresses))
		case slices.ContainsFunc(a.Gateways[:i], func(o netip.Addr) bool { return o.Is4() == g.Is4() }):
			problems = append(problems, service.Problemf(at, "Two gateways of one family", "a machine has one default route of each family and metric: list one IPv4 and one IPv6 gateway at most"))
		case slices.ContainsFunc(a.Addresses, func(p netip.Prefix) bool { return p.Addr() == g }):
			problems = append(problems, service.Problemf(at, "Gateway is the machine itself", "%s is among the addresses: write the address of the router", g))
		}
	}
	for i, domain := range a.Search {
		if !ValidDomain(domain) {
			problems = append(problems, service.Problemf([]any{"search", i}, "Invalid domain", "%q is no domain", domain))
		}
	}
	if a.Metric != 0 && len(a.Gateways) == 0 && !a.DHCP {
		problems = append(problems, service.Problemf([]any{"metric"}, "Metric without gateway", "a metric belongs to the default route: set gateway, or leave metric out"))
	}
	return problems
}

// WithoutManager finds what needs a network manager, for a device that nothing keeps.
func (a Addressing) WithoutManager() []service.Problem {
	var problems []service.Problem
	if a.DHCP {
		problems = append(problems, service.Problemf([]any{"addresses"}, "DHCP without a network manager", "backend \"runtime\" has no DHCP client: list the addresses, or choose another backend"))
	}
	if len(a.Nameservers)+len(a.Search) > 0 {
		problems = append(problems, service.Problemf([]any{"nameservers"}, "Name servers without a network manager", "backend \"runtime\" keeps no name servers: leave nameservers and search out, or choose another backend"))
	}
	return problems
}

// CheckDefaultRoute refuses a default route that would take the place of another device's; devices are those whose own goes.
func (m Machine) CheckDefaultRoute(a Addressing, devices []string) error {
	for _, route := range m.Routes {
		there := route.Asked()
		if there.To.Bits() != 0 || !there.Via.IsValid() || slices.Contains(devices, route.Dev) {
			continue
		}
		for _, g := range a.Gateways {
			if g.Is4() == there.Via.Is4() && there.Metric == a.Metric {
				return service.At([]any{"gateway"}, fmt.Errorf("the machine has a default route of the same metric via %s dev %s, which stays: give this one a metric, such as 100, or leave gateway out", there.Via, route.Dev))
			}
		}
	}
	return nil
}
