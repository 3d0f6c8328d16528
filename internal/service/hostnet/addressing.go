package hostnet

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/plan"
)

// Addressing is what a device has of addresses and what goes with them.
type Addressing struct {
	DHCP bool
	// AcceptRA has the device heed router advertisements, as what it had by them was not made permanent. Where it is not set, that is
	// left to the manager.
	AcceptRA    bool
	Addresses   []netip.Prefix
	Gateways    []netip.Addr
	Metric      int
	Routes      []StaticRoute `attr:"routes"`
	Nameservers []netip.Addr
	Search      []string
}

// StaticRoute is a route to a network through a gateway; Metric 0 leaves it to the kernel.
type StaticRoute struct {
	To     netip.Prefix `attr:"cidr"`
	Via    netip.Addr   `attr:"via"`
	Metric int          `attr:"metric"`
	// OnLink says that the gateway is reached by the device though none of its addresses is in a network with it.
	OnLink bool `json:",omitempty"`
}

// Settings are the addresses and routes as ip(8) has them.
func (a Addressing) Settings() []Setting {
	var all []Setting
	for _, p := range a.Addresses {
		all = append(all, AddressSetting(p))
	}
	for _, r := range append(slices.Clone(a.Routes), a.defaultRoutes()...) {
		all = append(all, Setting{Route: r})
	}
	return all
}

// defaultRoutes are the routes by way of the gateways.
func (a Addressing) defaultRoutes() []StaticRoute {
	var all []StaticRoute
	for _, g := range a.Gateways {
		all = append(all, StaticRoute{To: Everywhere(g), Via: g, Metric: a.Metric})
	}
	return all
}

// allRoutes are the default routes, and the others.
func (a Addressing) allRoutes() []StaticRoute { return append(a.defaultRoutes(), a.Routes...) }

// Everywhere is the destination of a default route of an address's family.
func Everywhere(like netip.Addr) netip.Prefix {
	if like.Is4() {
		return netip.PrefixFrom(netip.IPv4Unspecified(), 0)
	}
	return netip.PrefixFrom(netip.IPv6Unspecified(), 0)
}

// Addressing is what a device has now, as configuration: what it has by DHCP is asked for by DHCP again, and what it has by router
// advertisements comes with the next ones. Routes that the kernel, DHCP or router advertisements made are not part of it, nor are
// addresses that something else puts on the device.
func (m Machine) Addressing(device string) Addressing {
	a := Addressing{AcceptRA: m.heedsAdvertisements(device)}
	link, _ := m.Link(device)
	for _, l := range link.Addresses {
		switch {
		case l.Scope != "global":
		case l.Dynamic && l.Family == "inet":
			a.DHCP = true
		case !l.Dynamic && m.heldBy(device, l.Local, l.Protocol) == "":
			a.Addresses = append(a.Addresses, netip.PrefixFrom(l.Local, l.PrefixLen))
		}
	}
	for _, r := range m.Routes {
		if r.Dev != device || r.isAutomatic() {
			continue
		}
		asked := r.Asked()
		// What is in a network of the device is reached without that flag, which some network managers give to every gateway.
		asked.OnLink = asked.OnLink && !slices.ContainsFunc(a.Addresses, func(p netip.Prefix) bool { return p.Contains(asked.Via) })
		switch {
		case !asked.To.IsValid():
		case asked.To.Bits() == 0 && asked.Via.IsValid() && !asked.OnLink && (len(a.Gateways) == 0 || asked.Metric == a.Metric):
			a.Gateways, a.Metric = append(a.Gateways, asked.Via), asked.Metric
		case asked.To.Bits() > 0 || asked.Via.IsValid():
			a.Routes = append(a.Routes, asked)
		}
	}
	return a
}

func familyOption(a netip.Addr) string {
	if a.Is4() {
		return "-4"
	}
	return "-6"
}

// joinTexts lists values with a blank between them.
func joinTexts[T fmt.Stringer](values []T) string { return strings.Join(spellAll(values), " ") }

// ListUses returns what a device uses of its machine: the addresses that it is given, in the role of a kind. What it inherits, or gets by
// DHCP, the plan does not know.
func (a Addressing) ListUses(kind plan.Kind, device string) []plan.Use {
	if len(a.Addresses) == 0 {
		return nil
	}
	uses := []plan.Use{{Verb: plan.Gives, Kind: plan.KnownAddresses, Value: device, Known: []string{"addresses"}}}
	for _, p := range a.Addresses {
		uses = append(uses, plan.Use{Kind: kind, Value: p.Addr().String(), Path: []any{"addresses"}})
	}
	return uses
}
