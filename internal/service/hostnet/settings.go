package hostnet

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// Setting is an address or a route of a device, as ip(8) takes it behind the verb.
type Setting struct {
	// Object is "addr" or "route".
	Object string `json:"object"`
	// Text is without the device: "10.19.41.10/24 broadcast 10.19.41.255", "default via 10.19.41.254 metric 100".
	Text string `json:"text"`
}

// AddressSetting is an address with its prefix length.
func AddressSetting(p netip.Prefix) Setting { return Setting{"addr", p.String()} }

// RouteSetting is a route; a gateway or a metric that is zero is left out.
func RouteSetting(to netip.Prefix, via netip.Addr, metric int) Setting {
	text := to.String()
	switch {
	case to.Bits() == 0 && to.Addr().Is4():
		text = "default"
	case to.IsSingleIP():
		text = to.Addr().String() // as ip tells it
	}
	if via.IsValid() {
		text += " via " + via.String()
	}
	if metric != 0 {
		text += fmt.Sprintf(" metric %d", metric)
	}
	return Setting{"route", text}
}

// GatewaysOf are the gateways of the default routes among settings.
func GatewaysOf(settings []Setting) []netip.Addr {
	var gateways []netip.Addr
	for _, s := range settings {
		words := strings.Fields(s.Text)
		if s.Object != "route" || len(words) < 3 || words[0] != "default" && words[0] != "::/0" || words[1] != "via" {
			continue
		}
		if gateway, err := netip.ParseAddr(words[2]); err == nil {
			gateways = append(gateways, gateway)
		}
	}
	return gateways
}

// Same says whether two settings are the same address, or routes to the same place of the same metric: a device has one of them.
func (s Setting) Same(o Setting) bool {
	return s.Object == o.Object && s.settingKey() == o.settingKey()
}

// Meant says whether a setting of the machine is the one that was asked for: where that has no metric, the machine chose one.
func (s Setting) Meant(found Setting) bool {
	if s.Same(found) {
		return true
	}
	own, _, chosen := strings.Cut(found.Text, " metric ")
	return s.Object == "route" && found.Object == "route" && chosen && !strings.Contains(s.Text, " metric ") && s.Same(Setting{"route", own})
}

func (s Setting) settingKey() string {
	words := strings.Fields(s.Text)
	key := words[0]
	if i := slices.Index(words, "via"); s.Object == "route" && i > 0 {
		key += " " + words[i+1]
	}
	metric := ""
	if i := slices.Index(words, "metric"); i > 0 {
		metric = words[i+1]
	}
	if strings.Contains(words[0], ":") && metric == "" && s.Object == "route" {
		metric = "1024" // what the kernel gives to an IPv6 route
	}
	return key + " " + metric
}

// Without are the settings that are not in others.
func Without(settings, others []Setting) []Setting {
	return slices.DeleteFunc(slices.Clone(settings), func(s Setting) bool { return slices.ContainsFunc(others, s.Same) })
}

// Settings are a device's addresses, but for link-local ones, and its routes, but for those that the kernel makes by itself. What comes
// from router advertisements is not among them: it comes back by itself, and would never end if it were given.
func (m Machine) Settings(name string) []Setting {
	link, _ := m.Link(name)
	var all []Setting
	for _, a := range link.Addresses {
		if a.Scope != "global" || isAdvertised(a.Family, a.Dynamic) {
			continue
		}
		s := AddressSetting(netip.PrefixFrom(a.Local, a.PrefixLen))
		if a.Broadcast != "" {
			s.Text += " broadcast " + a.Broadcast
		}
		all = append(all, s)
	}
	var routes []Setting
	for _, r := range m.Routes {
		if r.Dev == name && r.Protocol != "kernel" && r.Protocol != "ra" {
			routes = append(routes, r.Setting())
		}
	}
	// Routes without a gateway first: the others may need them.
	slices.SortStableFunc(routes, func(a, b Setting) int { return a.countGateways() - b.countGateways() })
	return append(all, routes...)
}

// Setting is the route as ip(8) takes it, without its device.
func (r Route) Setting() Setting {
	text := r.Dst
	if r.Dst == "default" && r.Family == "-6" {
		text = "::/0" // "default" alone means IPv4 in a batch
	}
	if r.Gateway != "" {
		text += " via " + r.Gateway
	}
	if r.Metric != 0 {
		text += fmt.Sprintf(" metric %d", r.Metric)
	}
	if r.PrefSrc != "" {
		text += " src " + r.PrefSrc
	}
	return Setting{"route", text}
}

func (s Setting) countGateways() int {
	if strings.Contains(s.Text, " via ") {
		return 1
	}
	return 0
}

// Batch is an `ip -batch` script.
type Batch []string

// Add appends a line.
func (b *Batch) Add(format string, args ...any) { *b = append(*b, fmt.Sprintf(format, args...)) }

// Give adds settings to a device that does not have them, addresses before the routes that need them.
func (b *Batch) Give(device string, settings []Setting) {
	for _, object := range []string{"addr", "route"} {
		for _, s := range settings {
			if s.Object == object {
				// An address may be there; a route to the same place through another device is somebody else's, and an error.
				verb := map[string]string{"addr": "replace", "route": "add"}[object]
				b.Add("%s %s %s dev %s", object, verb, s.Text, device)
			}
		}
	}
}

// Take removes settings from a device: routes first, and the first address of a subnet last, as the others go with it.
func (b *Batch) Take(device string, settings []Setting) {
	for _, object := range []string{"route", "addr"} {
		for _, s := range slices.Backward(settings) {
			if s.Object == object {
				b.Add("%s del %s dev %s", object, s.Text, device)
			}
		}
	}
}

// TakeQuietly is the script that takes settings from a device; what is gone already is no error.
func TakeQuietly(device string, settings []Setting) string {
	var b Batch
	b.Take(device, settings)
	if len(b) == 0 {
		return ""
	}
	return runQuietly(b)
}

// GiveQuietly is the script that gives settings to a device; what is there already is no error.
func GiveQuietly(device string, settings []Setting) string {
	var b Batch
	b.Give(device, settings)
	if len(b) == 0 {
		return ""
	}
	return runQuietly(b)
}
