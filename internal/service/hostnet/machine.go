// Package hostnet is one machine's network: what it looks like now, and how to change it without losing the machine.
package hostnet

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
)

// Link is a network device, as `ip -json -details address show` gives it.
type Link struct {
	Name    string `json:"ifname"`
	Alias   string `json:"ifalias"`
	Address string `json:"address"`
	MTU     int    `json:"mtu"`
	Master  string `json:"master"`
	// Lower is the device that this one is made on, as a VLAN and a macvlan are.
	Lower    string   `json:"link"`
	Flags    []string `json:"flags"`
	State    string   `json:"operstate"`
	LinkInfo struct {
		Kind string `json:"info_kind"`
		Data struct {
			STPState      int `json:"stp_state"`
			VLANFiltering int `json:"vlan_filtering"`
			// Link is the device that a tunnel goes by, where it names one, as a VXLAN may.
			Link string `json:"link"`
		} `json:"info_data"`
	} `json:"linkinfo"`
	Addresses []struct {
		Family string     `json:"family"`
		Local  netip.Addr `json:"local"`
		// Peer is the address of the other end, where the device leads to one machine.
		Peer      string `json:"address"`
		PrefixLen int    `json:"prefixlen"`
		Scope     string `json:"scope"`
		Broadcast string `json:"broadcast"`
		Dynamic   bool   `json:"dynamic"`
		// Protocol is what put the address there, where the kernel keeps that (from 5.18 on).
		Protocol string `json:"protocol"`
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
	// Flags has "onlink" where the gateway counts as being on the device's network, whatever addresses the device has.
	Flags []string `json:"flags"`
	// Nexthops are the ways of a route that has several; then it has no gateway and no device of its own.
	Nexthops []struct {
		Dev string `json:"dev"`
	} `json:"nexthops"`
	// Expires is in how many seconds the route is over; 0 for one that stays.
	Expires int `json:"expires"`
}

// Machine is what a machine's network looks like now.
type Machine struct {
	Links  []Link
	Routes []Route
	// Reached is the machine's own address that this very connection came in by; invalid where it is no SSH connection.
	Reached netip.Addr
	// Neighbours are those that are written down for good.
	Neighbours []Neighbour
	// Held are the addresses that something else puts on devices and takes away again.
	Held []HeldAddress
	// Unproven is set while a change of the network is under way, or was left by a run that was killed: it may go back in a moment.
	Unproven bool
}

// IsUnproven implements the part of Found that tells what may go back in a moment.
func (m Machine) IsUnproven() bool { return m.Unproven }

// UnprovenScript prints a line "unproven" where what is seen of the machine's network may go back in a moment.
//
//go:embed unproven.sh
var UnprovenScript string

// lookScript prints what the machine's network looks like, but for who holds addresses.
//
//go:embed look.sh
var lookScript string

// Look reads a machine's network in one round trip.
func Look(ctx context.Context, h host.Host) (Machine, error) {
	out, err := h.Run(ctx, host.RepeatableScript("look at the network", lookScript+UnprovenScript+heldScript, ""))
	if err != nil {
		return Machine{}, fmt.Errorf("read the network of %s: %w", h, err)
	}
	var parts [3][]byte
	i := 0
	var reached netip.Addr
	var held []HeldAddress
	var neighbours []Neighbour
	unproven := false
	for line := range bytes.Lines(out) {
		if words, ssh := bytes.CutPrefix(line, []byte("ssh ")); ssh {
			// SSH_CONNECTION: the client's address and port, the machine's own address and port.
			if f := strings.Fields(string(words)); len(f) == 4 {
				reached, _ = netip.ParseAddr(f[2])
			}
			continue
		}
		if string(line) == "unproven\n" {
			unproven = true
			continue
		}
		if all, are := parseNeighbours(string(line)); are {
			neighbours = all
			continue
		}
		if a, is := parseHeld(string(line)); is {
			held = append(held, a)
			continue
		}
		if line = bytes.TrimSpace(line); len(line) > 0 && i < len(parts) {
			parts[i] = line
			i++
		}
	}
	m, err := ParseMachine(parts[0], parts[1], parts[2])
	m.Reached, m.Held, m.Neighbours, m.Unproven = reached, held, neighbours, unproven
	return m, err
}

// Reaches says whether the connection to the machine comes in by an address of a device.
func (m Machine) Reaches(device string) bool {
	return m.Reached.IsValid() && slices.ContainsFunc(m.Prefixes(device), func(p netip.Prefix) bool { return p.Addr() == m.Reached })
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
func (m Machine) Ports(bridge string) []string { return m.bridgeMembers(bridge, false) }

// Guests are a bridge's ports that belong to virtual machines.
func (m Machine) Guests(bridge string) []string { return m.bridgeMembers(bridge, true) }

func (m Machine) bridgeMembers(bridge string, taps bool) []string {
	var names []string
	for _, l := range m.Links {
		if l.Master == bridge && (l.LinkInfo.Kind == "tun") == taps {
			names = append(names, l.Name)
		}
	}
	return names
}

// CheckCarried refuses to move what a device has to another one where a part of it cannot be said in all the ways of network managers.
func (m Machine) CheckCarried(device string) error {
	link, _ := m.Link(device)
	for _, a := range link.Addresses {
		if a.Peer != "" {
			return fmt.Errorf("%s has the address %s with %s at its other end, which nothing else can have: take it from there first, or leave the interface out", device, a.Local, a.Peer)
		}
	}
	for _, r := range m.Routes {
		if r.isAutomatic() {
			continue
		}
		for _, hop := range r.Nexthops {
			if hop.Dev == device {
				return fmt.Errorf("the route to %s leads by several ways, of which one is %s, and only routes of one way can be moved: take it away first, or leave the interface out", r.Dst, device)
			}
		}
	}
	return nil
}

// Upper are the devices that are made on one.
func (m Machine) Upper(device string) []string {
	var names []string
	for _, l := range m.Links {
		if l.Lower == device || l.LinkInfo.Data.Link == device {
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

// kernelMetric is what the kernel gives to an IPv6 route without a metric.
const kernelMetric = 1024

// To is the network that the route leads to; invalid for what is none.
func (r Route) To() netip.Prefix {
	to, err := netip.ParsePrefix(r.Dst)
	if single, is := netip.ParseAddr(r.Dst); is == nil {
		to, err = netip.PrefixFrom(single, single.BitLen()), nil
	}
	if r.Dst == "default" && r.Family == "-6" {
		return netip.PrefixFrom(netip.IPv6Unspecified(), 0)
	} else if r.Dst == "default" {
		return netip.PrefixFrom(netip.IPv4Unspecified(), 0)
	}
	if err != nil {
		return netip.Prefix{}
	}
	return to
}

// isAutomatic says whether the kernel, router advertisements or DHCP made the route: they make it again on whatever device has their part.
func (r Route) isAutomatic() bool {
	return slices.Contains([]string{"kernel", "ra", "dhcp"}, r.Protocol)
}

// Setting is the route, without its device.
func (r Route) Setting() Setting {
	via, _ := netip.ParseAddr(r.Gateway)
	s := RouteSetting(r.To(), via, r.Metric)
	s.Source, s.Route.OnLink = r.PrefSrc, slices.Contains(r.Flags, "onlink")
	return s
}

// Asked is the route as somebody asked for it: without the metric that the kernel gives to an IPv6 route of none.
func (r Route) Asked() StaticRoute {
	asked := r.Setting().Route
	if r.Family == "-6" && asked.Metric == kernelMetric {
		asked.Metric = 0
	}
	return asked
}
