package hostnet

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// Setting is an address or a route of a device.
type Setting struct {
	// Address is with its prefix length; invalid for a route.
	Address   netip.Prefix `json:"address,omitzero"`
	Broadcast string       `json:"broadcast,omitempty"`
	Route     StaticRoute  `json:"route,omitzero"`
	// Source is the address that the machine has where the route leads.
	Source string `json:"source,omitempty"`
}

// AddressSetting is an address with its prefix length.
func AddressSetting(p netip.Prefix) Setting { return Setting{Address: p} }

// RouteSetting is a route; a gateway or a metric that is zero is left out.
func RouteSetting(to netip.Prefix, via netip.Addr, metric int) Setting {
	return Setting{Route: StaticRoute{To: to, Via: via, Metric: metric}}
}

// IsAddress says whether it is an address.
func (s Setting) IsAddress() bool { return s.Address.IsValid() }

// String is the setting as ip(8) takes it behind the verb, without the device: "10.19.41.10/24 broadcast 10.19.41.255", "default via
// 10.19.41.254 metric 100".
func (s Setting) String() string {
	text := s.Route.To.String()
	switch to := s.Route.To; {
	case s.IsAddress() && s.Broadcast != "":
		return s.Address.String() + " broadcast " + s.Broadcast
	case s.IsAddress():
		return s.Address.String()
	case to.Bits() == 0 && to.Addr().Is4(): // which alone means IPv4 in a batch
		text = "default"
	case to.IsSingleIP():
		text = to.Addr().String() // as ip tells it
	}
	if s.Route.Via.IsValid() {
		text += " via " + s.Route.Via.String()
	}
	if s.Route.OnLink {
		text += " onlink"
	}
	if s.Route.Metric != 0 {
		text += fmt.Sprintf(" metric %d", s.Route.Metric)
	}
	if s.Source != "" {
		text += " src " + s.Source
	}
	return text
}

// objectWord is what ip(8) calls such a thing.
func (s Setting) objectWord() string {
	if s.IsAddress() {
		return "addr"
	}
	return "route"
}

// GatewaysOf are the gateways of the default routes among settings.
func GatewaysOf(settings []Setting) []netip.Addr {
	var gateways []netip.Addr
	for _, s := range settings {
		if !s.IsAddress() && s.Route.To.Bits() == 0 && s.Route.Via.IsValid() {
			gateways = append(gateways, s.Route.Via)
		}
	}
	return gateways
}

// Same says whether two settings are the same address, or routes to the same place of the same metric: a device has one of them.
func (s Setting) Same(o Setting) bool {
	return s.Address == o.Address && s.Route.withKernelMetric() == o.Route.withKernelMetric()
}

// withKernelMetric is what tells the route from others: with the metric that the kernel gives to an IPv6 route without one, however its gateway
// is reached.
func (r StaticRoute) withKernelMetric() StaticRoute {
	r.OnLink = false
	if r.Metric == 0 && r.To.Addr().Is6() {
		r.Metric = kernelMetric
	}
	return r
}

// Meant says whether a setting of the machine is the one that was asked for: where that has no metric, the machine chose one.
func (s Setting) Meant(found Setting) bool {
	chosen := found
	chosen.Route.Metric = 0
	return s.Same(found) || s.Route.Metric == 0 && s.Same(chosen)
}

// Without are the settings that are not in others.
func Without(settings, others []Setting) []Setting {
	return slices.DeleteFunc(slices.Clone(settings), func(s Setting) bool { return slices.ContainsFunc(others, s.Same) })
}

// Settings are a device's addresses, but for link-local ones, and its routes, but for those that the kernel makes by itself. What comes
// from router advertisements is not among them: it comes back by itself, and would never end if it were given.
func (m Machine) Settings(name string) []Setting {
	link, _ := m.Link(name)
	var all, behind []Setting
	for _, a := range link.Addresses {
		if a.Scope == "global" && !isAdvertised(a.Family, a.Dynamic) {
			all = append(all, Setting{Address: netip.PrefixFrom(a.Local, a.PrefixLen), Broadcast: a.Broadcast})
		}
	}
	for _, r := range m.Routes {
		switch s := r.Setting(); {
		case r.Dev != name || r.Protocol == "kernel" || r.Protocol == "ra" || !s.Route.To.IsValid():
		case s.Route.Via.IsValid():
			behind = append(behind, s) // may need those without a gateway
		default:
			all = append(all, s)
		}
	}
	return append(all, behind...)
}

// Batch is an `ip -batch` script.
type Batch []string

// Add appends a line.
func (b *Batch) Add(format string, args ...any) { *b = append(*b, fmt.Sprintf(format, args...)) }

// Give adds settings to a device that does not have them, addresses before the routes that need them.
func (b *Batch) Give(device string, settings []Setting) {
	for _, object := range []string{"addr", "route"} {
		for _, s := range settings {
			if s.objectWord() == object {
				// An address may be there; a route to the same place through another device is somebody else's, and an error.
				verb := map[string]string{"addr": "replace", "route": "add"}[object]
				b.Add("%s %s %s dev %s", object, verb, s, device)
			}
		}
	}
}

// Take removes settings from a device: routes first, and the first address of a subnet last, as the others go with it.
func (b *Batch) Take(device string, settings []Setting) {
	for _, object := range []string{"route", "addr"} {
		for _, s := range slices.Backward(settings) {
			if s.objectWord() == object {
				b.Add("%s del %s dev %s", object, s, device)
			}
		}
	}
}

// formatScript is what has ip(8) run the batch; force goes on behind a command that fails.
func (b Batch) formatScript(force bool) string {
	if len(b) == 0 {
		return ""
	}
	flag := ""
	if force {
		flag = " -force"
	}
	return "ip" + flag + " -batch - <<'END'\n" + strings.Join(b, "\n") + "\nEND\n"
}

// formatQuietScript is the script that tries each command: what is so already is no error.
func (b Batch) formatQuietScript() string {
	return strings.Replace(b.formatScript(true), " <<'END'", " 2>/dev/null <<'END' || :", 1)
}

// takeQuietly is the script that takes settings from a device, as far as it has them.
func takeQuietly(device string, settings []Setting) string {
	var b Batch
	b.Take(device, settings)
	return b.formatQuietScript()
}
