// Package topology draws a topology: as an SVG, as a page with a table behind each element, as Mermaid's text and as JSON. It knows
// nothing but what it is told.
package topology

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// Topology is what is drawn, by names. Lists are in the order in which they are told.
type Topology struct {
	Title     string              `json:"title"`
	Networks  map[string]Network  `json:"networks"`
	Machines  map[string]Machine  `json:"machines"`
	VIPs      map[string]VIP      `json:"vips"`
	Frontends map[string]Frontend `json:"frontends"`
	Views     map[string]View     `json:"views"`
	Exposures map[string]Exposure `json:"exposures"`
}

// Network is a lane. Those outside are above the others.
type Network struct {
	CIDR       string `json:"cidr,omitempty"`
	Gateway    string `json:"gateway,omitempty"`
	Mode       string `json:"mode,omitempty"`
	Hypervisor string `json:"hypervisor,omitempty"`
	Outside    bool   `json:"outside"`
}

// Machine is in each network that it has an address in: network → address.
type Machine struct {
	Role       string            `json:"role"`
	Addresses  map[string]string `json:"addresses"`
	Hypervisor string            `json:"hypervisor,omitempty"`
	State      string            `json:"state,omitempty"`
}

// VIP is an address that moves between its members; Owner has it now, "" where nobody has or it is not known.
type VIP struct {
	Network string   `json:"network"`
	Address string   `json:"address"`
	Members []string `json:"members"`
	Owner   string   `json:"owner,omitempty"`
}

// Frontend is where machines balance: ADDRESS:PORT, and the machines that answer.
type Frontend struct {
	Machines []string `json:"machines"`
	Binds    []string `json:"binds"`
	Servers  []string `json:"servers"`
}

// View is what DNS servers tell some clients.
type View struct {
	Network  string   `json:"network,omitempty"`
	Machines []string `json:"machines"`
	Clients  []string `json:"clients"`
	Zones    []string `json:"zones"`
}

// Exposure is an address and ports that lead to guests.
type Exposure struct {
	Machine string   `json:"machine"`
	Address string   `json:"address"`
	Ports   []string `json:"ports"`
	Targets []string `json:"targets"`
}

// Validate finds names that nothing has.
func (t Topology) Validate() []service.Problem {
	var all []service.Problem
	network := func(name string, path ...any) {
		if _, ok := t.Networks[name]; !ok {
			all = append(all, service.Problemf(path, "Unknown network", "%q is none of the networks %q: write one of these, or add it", name, slices.Sorted(maps.Keys(t.Networks))))
		}
	}
	machine := func(name string, path ...any) {
		if _, ok := t.Machines[name]; !ok {
			all = append(all, service.Problemf(path, "Unknown machine", "%q is none of the machines %q: write one of these, or add it", name, slices.Sorted(maps.Keys(t.Machines))))
		}
	}
	each := func(names []string, path ...any) {
		for i, name := range names {
			machine(name, append(slices.Clone(path), i)...)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(t.Machines)) {
		for _, on := range slices.Sorted(maps.Keys(t.Machines[name].Addresses)) {
			network(on, "machines", service.Key(name), "addresses", service.Key(on))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(t.VIPs)) {
		v := t.VIPs[name]
		network(v.Network, "vips", service.Key(name), "network")
		each(v.Members, "vips", service.Key(name), "members")
		if v.Owner != "" {
			machine(v.Owner, "vips", service.Key(name), "owner")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(t.Frontends)) {
		each(t.Frontends[name].Machines, "frontends", service.Key(name), "machines")
		each(t.Frontends[name].Servers, "frontends", service.Key(name), "servers")
	}
	for _, name := range slices.Sorted(maps.Keys(t.Views)) {
		v := t.Views[name]
		each(v.Machines, "views", service.Key(name), "machines")
		if v.Network != "" {
			network(v.Network, "views", service.Key(name), "network")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(t.Exposures)) {
		machine(t.Exposures[name].Machine, "exposures", service.Key(name), "machine")
	}
	return all
}

// JSON is the topology with its keys in order.
func (t Topology) JSON() (string, error) {
	text, err := json.MarshalIndent(t, "", "  ")
	return string(text) + "\n", err
}

// laneNames are the names of the networks from top to bottom: those outside first.
func (t Topology) laneNames() []string {
	names := slices.Sorted(maps.Keys(t.Networks))
	slices.SortStableFunc(names, func(a, b string) int {
		switch outA, outB := t.Networks[a].Outside, t.Networks[b].Outside; {
		case outA == outB:
			return 0
		case outA:
			return -1
		}
		return 1
	})
	return names
}

// servingMachines are the machines that serve others, in order: those of role service, and who has a part in what is served.
func (t Topology) servingMachines() []string {
	is := map[string]bool{}
	for name, m := range t.Machines {
		is[name] = m.Role == "service"
	}
	for _, v := range t.VIPs {
		for _, m := range v.Members {
			is[m] = true
		}
	}
	for _, f := range t.Frontends {
		for _, m := range f.Machines {
			is[m] = true
		}
	}
	for _, v := range t.Views {
		for _, m := range v.Machines {
			is[m] = true
		}
	}
	for _, e := range t.Exposures {
		is[e.Machine] = true
	}
	maps.DeleteFunc(is, func(_ string, serves bool) bool { return !serves })
	return slices.Sorted(maps.Keys(is))
}

// laneOf finds the network that an address is in: the one that says so of a virtual address, or that a machine has it in, or whose
// subnet it is in. What is in none is in the first.
func (t Topology) laneOf(address string) string {
	address, _, _ = strings.Cut(address, "/")
	for _, name := range slices.Sorted(maps.Keys(t.VIPs)) {
		if own, _, _ := strings.Cut(t.VIPs[name].Address, "/"); own == address {
			return t.VIPs[name].Network
		}
	}
	for _, name := range slices.Sorted(maps.Keys(t.Machines)) {
		for _, on := range slices.Sorted(maps.Keys(t.Machines[name].Addresses)) {
			if t.Machines[name].Addresses[on] == address {
				return on
			}
		}
	}
	ip, err := netip.ParseAddr(address)
	for _, name := range t.laneNames() {
		if p, wrong := netip.ParsePrefix(t.Networks[name].CIDR); err == nil && wrong == nil && p.Contains(ip) {
			return name
		}
	}
	if all := t.laneNames(); len(all) > 0 {
		return all[0]
	}
	return ""
}

// splitBind splits ADDRESS:PORT, with or without brackets.
func splitBind(bind string) (address, port string) {
	at := strings.LastIndex(bind, ":")
	if at < 0 {
		return bind, ""
	}
	return strings.Trim(bind[:at], "[]"), bind[at+1:]
}

// countNoun is "1 master", "3 masters".
func countNoun(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
