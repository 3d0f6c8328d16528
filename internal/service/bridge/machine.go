package bridge

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
)

// Link is a network device, as `ip -json -details address show` gives it.
type Link struct {
	Name     string   `json:"ifname"`
	Address  string   `json:"address"`
	MTU      int      `json:"mtu"`
	Master   string   `json:"master"`
	Flags    []string `json:"flags"`
	LinkInfo struct {
		Kind string `json:"info_kind"`
		Data struct {
			STPState int `json:"stp_state"`
		} `json:"info_data"`
	} `json:"linkinfo"`
	Addresses []struct {
		Family    string     `json:"family"`
		Local     netip.Addr `json:"local"`
		PrefixLen int        `json:"prefixlen"`
		Scope     string     `json:"scope"`
		Broadcast string     `json:"broadcast"`
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

// ParseMachine reads three JSON documents, one on a line: links with addresses, IPv4 routes, IPv6 routes.
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

// Bridge reads a bridge back; ok is false where there is no bridge of that name.
func (m Machine) Bridge(name string) (b Bridge, ok bool) {
	link, ok := m.Link(name)
	if !ok || link.LinkInfo.Kind != "bridge" {
		return b, false
	}
	b = Bridge{Name: name, MTU: link.MTU, STP: link.LinkInfo.Data.STPState != 0, Interfaces: m.ports(name), Addresses: m.prefixes(name)}
	for _, r := range m.Routes {
		if r.Dev == name && r.Dst == "default" {
			if gateway, err := netip.ParseAddr(r.Gateway); err == nil && (!b.Gateway.IsValid() || gateway.Is4()) {
				b.Gateway = gateway
			}
		}
	}
	return b, true
}

// Guests are the bridge's ports that belong to virtual machines.
func (m Machine) Guests(bridge string) []string { return m.members(bridge, true) }

// ports are the bridge's ports but for the taps of virtual machines.
func (m Machine) ports(bridge string) []string { return m.members(bridge, false) }

func (m Machine) members(bridge string, taps bool) []string {
	var names []string
	for _, l := range m.Links {
		if l.Master == bridge && (l.LinkInfo.Kind == "tun") == taps {
			names = append(names, l.Name)
		}
	}
	return names
}

func (m Machine) names() []string {
	var names []string
	for _, l := range m.Links {
		if l.Name != "lo" {
			names = append(names, l.Name)
		}
	}
	return names
}

// prefixes are a device's addresses but for link-local ones.
func (m Machine) prefixes(name string) []netip.Prefix {
	link, _ := m.Link(name)
	var prefixes []netip.Prefix
	for _, a := range link.Addresses {
		if a.Scope == "global" {
			prefixes = append(prefixes, netip.PrefixFrom(a.Local, a.PrefixLen))
		}
	}
	return prefixes
}

// addresses are the commands, without the device, that give a device's addresses to another one.
func (m Machine) addresses(name string) Commands {
	link, _ := m.Link(name)
	var c Commands
	for _, a := range link.Addresses {
		if a.Scope != "global" {
			continue
		}
		if a.Broadcast != "" {
			c.add("addr replace %s/%d broadcast %s", a.Local, a.PrefixLen, a.Broadcast)
		} else {
			c.add("addr replace %s/%d", a.Local, a.PrefixLen)
		}
	}
	return c
}

// routes are the commands, without the device, that give a device's routes to another one. Those that the
// kernel makes by itself for an address are left out.
func (m Machine) routes(name string) Commands {
	var c Commands
	for _, r := range m.Routes {
		if r.Dev != name || r.Protocol == "kernel" || r.Protocol == "ra" {
			continue
		}
		dst := r.Dst
		if dst == "default" && r.Family == "-6" {
			dst = "::/0" // "default" alone means IPv4 in a batch
		}
		text := "route replace " + dst
		if r.Gateway != "" {
			text += " via " + r.Gateway
		}
		if r.Metric != 0 {
			text += fmt.Sprintf(" metric %d", r.Metric)
		}
		if r.PrefSrc != "" {
			text += " src " + r.PrefSrc
		}
		c = append(c, text)
	}
	// Routes without a gateway first: the others may need them.
	slices.SortStableFunc(c, func(a, b string) int { return via(a) - via(b) })
	return c
}

func via(route string) int {
	for i := 0; i+5 <= len(route); i++ {
		if route[i:i+5] == " via " {
			return 1
		}
	}
	return 0
}
