package hostnet

import (
	_ "embed"
	"net/netip"
	"slices"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// HeldAddress is an address that is not its device's own: something else puts it there for as long as it likes.
type HeldAddress struct {
	// Device is "" where the address may be on any.
	Device  string
	Address netip.Addr
	// Holder names what puts it there: "keepalived".
	Holder string
}

const (
	keepalivedHolds = "keepalived"
	exposureHolds   = "an exposure of this provider's"
)

// heldScript prints what holds addresses, as lines that parseHeld reads.
//
//go:embed held.sh
var heldScript string

// parseHeld reads a line of heldScript; is says whether it is one.
func parseHeld(line string) (a HeldAddress, is bool) {
	words := strings.Fields(line)
	if len(words) != 4 || words[0] != "held" {
		return a, false
	}
	text, _, _ := strings.Cut(words[3], "/")
	address, err := netip.ParseAddr(text)
	if err != nil {
		return a, false
	}
	a = HeldAddress{Address: address, Holder: keepalivedHolds}
	if words[1] == "exposure" {
		a.Holder = exposureHolds
	}
	if words[2] != "-" {
		a.Device = words[2]
	}
	return a, true
}

// keepalivedProtocols are what ip(8) calls keepalived's addresses: 18 of rtnetlink.h, with or without a name for it.
var keepalivedProtocols = []string{"keepalived", "18", "0x12"}

// heldBy names what holds an address that a device has; "" for one of the device's own. An address that keepalived's configuration has,
// and nothing says who put it there, is the device's own where it has no other: VRRP's owner has it without keepalived.
func (m Machine) heldBy(device string, address netip.Addr, protocol string) string {
	holder := m.namedHolder(device, address, protocol)
	if holder != keepalivedHolds || slices.Contains(keepalivedProtocols, protocol) {
		return holder
	}
	link, _ := m.Link(device)
	for _, a := range link.Addresses {
		if a.Scope == "global" && !isAdvertised(a.Family, a.Dynamic) && m.namedHolder(device, a.Local, a.Protocol) == "" {
			return holder
		}
	}
	return ""
}

// namedHolder is what the kernel, keepalived's configuration or an exposure says to hold an address; "" for nothing.
func (m Machine) namedHolder(device string, address netip.Addr, protocol string) string {
	if slices.Contains(keepalivedProtocols, protocol) {
		return keepalivedHolds
	}
	for _, h := range m.Held {
		if h.Address == address && (h.Device == "" || h.Device == device) {
			return h.Holder
		}
	}
	return ""
}

// heldOn are the addresses of a device that something else holds, by what holds them.
func (m Machine) heldOn(device string) map[string][]netip.Prefix {
	link, _ := m.Link(device)
	all := map[string][]netip.Prefix{}
	for _, a := range link.Addresses {
		if holder := m.heldBy(device, a.Local, a.Protocol); holder != "" {
			all[holder] = append(all[holder], netip.PrefixFrom(a.Local, a.PrefixLen))
		}
	}
	return all
}

// Own are the settings of a device but for the addresses that something else holds.
func (m Machine) Own(device string) []Setting {
	var others []Setting
	for _, addresses := range m.heldOn(device) {
		for _, p := range addresses {
			others = append(others, AddressSetting(p))
		}
	}
	return Without(m.Settings(device), others)
}

// WarnOfHeld says that devices which go into another have addresses that stay behind, as something else holds them.
func (m Machine) WarnOfHeld(devices []string, to string) []service.Problem {
	var problems []service.Problem
	for _, device := range devices {
		if link, _ := m.Link(device); link.Master != "" {
			continue
		}
		held := m.heldOn(device)
		for _, holder := range []string{keepalivedHolds, exposureHolds} {
			if len(held[holder]) > 0 {
				problems = append(problems, service.Warningf([]any{"interfaces"}, "An address of somebody else's on an interface",
					"%s has %s on %s, which goes into %s: %[4]s does not take that over, and on an interface in a bridge it is hardly reached. Have it put on %[4]s instead", holder, joinTexts(held[holder]), device, to))
			}
		}
	}
	return problems
}

// isAdvertised says whether an address of a link comes from router advertisements, or by DHCPv6 as those told: it comes back by itself.
func isAdvertised(family string, dynamic bool) bool { return dynamic && family == "inet6" }

// fromRouters says whether a route comes from router advertisements: the kernel gives those to a network no protocol of their own.
func (r Route) fromRouters() bool {
	return r.Protocol == "ra" || r.Family == "-6" && r.Protocol == "kernel" && r.Expires > 0
}

// heedsAdvertisements says whether a device has something by router advertisements.
func (m Machine) heedsAdvertisements(device string) bool {
	link, _ := m.Link(device)
	for _, a := range link.Addresses {
		if a.Scope == "global" && isAdvertised(a.Family, a.Dynamic) {
			return true
		}
	}
	return slices.ContainsFunc(m.Routes, func(r Route) bool { return r.Dev == device && r.fromRouters() })
}
