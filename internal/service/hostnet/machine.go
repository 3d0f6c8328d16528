// Package hostnet is one machine's network: what it looks like now, and how to change it without losing the machine.
package hostnet

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
)

// Link is a network device, as `ip -json -details address show` gives it.
type Link struct {
	Name     string   `json:"ifname"`
	Alias    string   `json:"ifalias"`
	Address  string   `json:"address"`
	MTU      int      `json:"mtu"`
	Master   string   `json:"master"`
	Flags    []string `json:"flags"`
	State    string   `json:"operstate"`
	LinkInfo struct {
		Kind string `json:"info_kind"`
		Data struct {
			STPState      int `json:"stp_state"`
			VLANFiltering int `json:"vlan_filtering"`
		} `json:"info_data"`
	} `json:"linkinfo"`
	Addresses []struct {
		Family    string     `json:"family"`
		Local     netip.Addr `json:"local"`
		PrefixLen int        `json:"prefixlen"`
		Scope     string     `json:"scope"`
		Broadcast string     `json:"broadcast"`
		Dynamic   bool       `json:"dynamic"`
	} `json:"addr_info"`
}

// Route is a route of the main table, as `ip -json route show` gives it.
type Route struct {
	Family   string `json:"-"`
	Dst      string `json:"dst"`
	Gateway  string `json:"gateway"`
	Dev      string `json:"dev"`
	Protocol string `json:"protocol"`
	Scope    string `json:"scope"`
	Metric   int    `json:"metric"`
	PrefSrc  string `json:"prefsrc"`
}

// Machine is what a machine's network looks like now.
type Machine struct {
	Links  []Link
	Routes []Route
}

// Look reads a machine's network in one round trip.
func Look(ctx context.Context, h host.Host) (Machine, error) {
	script := `ip -json -details address show && echo && ip -json -4 route show table main && echo && ip -json -6 route show table main`
	cmd := host.Script("look at the network", script)
	cmd.Repeatable = true
	out, err := h.Run(ctx, cmd)
	if err != nil {
		return Machine{}, fmt.Errorf("read the network of %s: %w", h, err)
	}
	var parts [3][]byte
	i := 0
	for line := range bytes.Lines(out) {
		if line = bytes.TrimSpace(line); len(line) > 0 && i < len(parts) {
			parts[i] = line
			i++
		}
	}
	return ParseMachine(parts[0], parts[1], parts[2])
}

// ParseMachine reads three JSON documents: links with addresses, IPv4 routes, IPv6 routes.
func ParseMachine(links, routes4, routes6 []byte) (Machine, error) {
	var m Machine
	if err := json.Unmarshal(links, &m.Links); err != nil {
		return m, fmt.Errorf("parse links: %w", err)
	}
	for _, list := range []struct {
		family string
		text   []byte
	}{{"-4", routes4}, {"-6", routes6}} {
		var routes []Route
		if len(list.text) > 0 {
			if err := json.Unmarshal(list.text, &routes); err != nil {
				return m, fmt.Errorf("parse routes: %w", err)
			}
		}
		for _, r := range routes {
			r.Family = list.family
			m.Routes = append(m.Routes, r)
		}
	}
	return m, nil
}

// Link finds a device by name.
func (m Machine) Link(name string) (Link, bool) {
	i := slices.IndexFunc(m.Links, func(l Link) bool { return l.Name == name })
	if i < 0 {
		return Link{}, false
	}
	return m.Links[i], true
}

// Ports are a bridge's ports but for the taps of virtual machines.
func (m Machine) Ports(bridge string) []string { return m.members(bridge, false) }

// Guests are a bridge's ports that belong to virtual machines.
func (m Machine) Guests(bridge string) []string { return m.members(bridge, true) }

func (m Machine) members(bridge string, taps bool) []string {
	var names []string
	for _, l := range m.Links {
		if l.Master == bridge && (l.LinkInfo.Kind == "tun") == taps {
			names = append(names, l.Name)
		}
	}
	return names
}

// Names are the machine's devices but for the loopback one.
func (m Machine) Names() []string {
	var names []string
	for _, l := range m.Links {
		if l.Name != "lo" {
			names = append(names, l.Name)
		}
	}
	return names
}

// Prefixes are a device's addresses but for link-local ones.
func (m Machine) Prefixes(name string) []netip.Prefix {
	link, _ := m.Link(name)
	var prefixes []netip.Prefix
	for _, a := range link.Addresses {
		if a.Scope == "global" {
			prefixes = append(prefixes, netip.PrefixFrom(a.Local, a.PrefixLen))
		}
	}
	return prefixes
}

// Gateways are the gateways of the default routes through a device, IPv4 first; "" means every device.
func (m Machine) Gateways(device string) []netip.Addr {
	var gateways []netip.Addr
	for _, r := range m.Routes {
		if gateway, err := netip.ParseAddr(r.Gateway); err == nil && r.Dst == "default" && (device == "" || r.Dev == device) {
			gateways = append(gateways, gateway)
		}
	}
	return gateways
}

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
	if to.Bits() == 0 && to.Addr().Is4() {
		text = "default"
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
func (s Setting) Same(o Setting) bool { return s.Object == o.Object && s.key() == o.key() }

// Meant says whether a setting of the machine is the one that was asked for: where that has no metric, the machine chose one.
func (s Setting) Meant(found Setting) bool {
	if s.Same(found) {
		return true
	}
	own, _, chosen := strings.Cut(found.Text, " metric ")
	return s.Object == "route" && found.Object == "route" && chosen && !strings.Contains(s.Text, " metric ") && s.Same(Setting{"route", own})
}

func (s Setting) key() string {
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

// Settings are a device's addresses, but for link-local ones, and its routes, but for those that the kernel makes by itself.
func (m Machine) Settings(name string) []Setting {
	link, _ := m.Link(name)
	var all []Setting
	for _, a := range link.Addresses {
		if a.Scope != "global" {
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
	slices.SortStableFunc(routes, func(a, b Setting) int { return a.via() - b.via() })
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

func (s Setting) via() int {
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
