package bridge

import (
	"encoding/json"
	"net/netip"
	"slices"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/hostnet"
)

// Record is what the machine keeps of a bridge that this provider made: what its network cannot tell. It counts for as long as
// the bridge carries its mark.
type Record struct {
	Mark owner.Mark
	// Want is the bridge as it was last configured.
	Want Bridge
	// Before are the interfaces as they were when the bridge took them.
	Before []Port
}

// Port is an interface as it was before a bridge took it.
type Port struct {
	Name     string            `json:"name"`
	MTU      int               `json:"mtu"`
	Settings []hostnet.Setting `json:"settings"`
	// Addressing is the same as configuration, and Manager what managed the interface.
	Addressing hostnet.Addressing `json:"addressing"`
	Manager    hostnet.Manager    `json:"manager"`
	// MAC is the bridge's, where the interface is its first.
	MAC string `json:"mac"`
}

// written is a Record as it is written.
type written struct {
	Mark       string         `json:"mark"`
	Interfaces []string       `json:"interfaces"`
	STP        bool           `json:"stp"`
	MTU        int            `json:"mtu,omitempty"`
	Inherit    bool           `json:"inherit"`
	Addresses  []netip.Prefix `json:"addresses,omitempty"`
	Gateway    netip.Addr     `json:"gateway,omitzero"`
	Metric     int            `json:"metric,omitempty"`
	DHCP       bool           `json:"dhcp,omitempty"`
	DNS        []netip.Addr   `json:"nameservers,omitempty"`
	Search     []string       `json:"search,omitempty"`
	Backend    string         `json:"backend"`
	Active     string         `json:"active_backend"`
	Rollback   int            `json:"rollback_timeout"`
	Before     []Port         `json:"before"`
}

// Render is the record as a file; Parse is its inverse.
func (r Record) Render() []byte {
	w := r.Want
	text, err := json.MarshalIndent(written{
		Mark: r.Mark.String(), Interfaces: w.Interfaces, STP: w.STP, MTU: w.MTU, Inherit: w.Inherit, Addresses: w.Addresses,
		Gateway: w.Gateway, Metric: w.Metric, DHCP: w.DHCP, DNS: w.Nameservers, Search: w.Search, Backend: w.Backend, Active: w.ActiveBackend,
		Rollback: int(w.RollbackTimeout / time.Second), Before: r.Before,
	}, "", "  ")
	if err != nil {
		panic(err) // plain values always marshal
	}
	return append(text, '\n')
}

// ParseRecord reads the record of the bridge of a name.
func ParseRecord(name string, text []byte) (Record, error) {
	var w written
	if err := json.Unmarshal(text, &w); err != nil {
		return Record{}, err
	}
	return Record{
		Mark: owner.Parse(w.Mark), Before: w.Before,
		Want: Bridge{
			Name: name, Interfaces: w.Interfaces, STP: w.STP, MTU: w.MTU, Inherit: w.Inherit, Addresses: w.Addresses, Gateway: w.Gateway,
			Metric: w.Metric, DHCP: w.DHCP, Nameservers: w.DNS, Search: w.Search, Backend: w.Backend, ActiveBackend: w.Active,
			RollbackTimeout: time.Duration(w.Rollback) * time.Second,
		},
	}, nil
}

// port finds an interface among those that the bridge took.
func (r Record) port(name string) (Port, bool) {
	i := slices.IndexFunc(r.Before, func(p Port) bool { return p.Name == name })
	if i < 0 {
		return Port{}, false
	}
	return r.Before[i], true
}

// before is what the interfaces had, all together.
func (r Record) before() []hostnet.Setting {
	var all []hostnet.Setting
	for _, p := range r.Before {
		all = append(all, p.Settings...)
	}
	return all
}

// settings are what the bridge got of its owner: what the interfaces had, or what the configuration lists. What comes by DHCP is
// not among them where the bridge asks for it itself.
func (r Record) settings() []hostnet.Setting {
	if r.Want.ActiveBackend != hostnet.Runtime || !r.Want.Inherit {
		return r.addressing().Settings()
	}
	var all []hostnet.Setting
	for _, p := range r.Before {
		if slices.Contains(r.Want.Interfaces, p.Name) {
			all = append(all, p.Settings...)
		}
	}
	return all
}

// addressing is the bridge's as configuration.
func (r Record) addressing() hostnet.Addressing {
	w := r.Want
	a := hostnet.Addressing{DHCP: w.DHCP, Addresses: w.Addresses, Metric: w.Metric, Nameservers: w.Nameservers, Search: w.Search}
	if w.Gateway.IsValid() {
		a.Gateways = []netip.Addr{w.Gateway}
	}
	if !w.Inherit {
		return a
	}
	for _, p := range r.Before {
		if !slices.Contains(w.Interfaces, p.Name) {
			continue
		}
		a.DHCP = a.DHCP || p.Addressing.DHCP
		a.Addresses = append(a.Addresses, p.Addressing.Addresses...)
		a.Routes = append(a.Routes, p.Addressing.Routes...)
		if len(a.Gateways) == 0 {
			a.Gateways, a.Metric = p.Addressing.Gateways, p.Addressing.Metric
		}
	}
	return a
}

// setups are the bridge and its ports as a backend keeps them.
func (r Record) setups() []hostnet.Setup {
	all := []hostnet.Setup{{
		Device: r.Want.Name, Bridge: &hostnet.BridgeOptions{MAC: r.Before[0].MAC, STP: r.Want.STP}, MTU: r.Want.MTU, Addressing: r.addressing(),
	}}
	for _, p := range r.Before {
		all = append(all, hostnet.Setup{Device: p.Name, Master: r.Want.Name, MTU: r.Want.MTU, Original: p.Manager})
	}
	return all
}

// read is the bridge as the machine has it, with what only its record tells; known is false for one that somebody else made.
func read(m hostnet.Machine, name string, r Record, known bool) (b Bridge, ok bool) {
	link, ok := m.Link(name)
	if !ok || link.LinkInfo.Kind != "bridge" {
		return b, false
	}
	stp, ports, active := link.LinkInfo.Data.STPState != 0, m.Ports(name), m.Prefixes(name)
	if !known {
		return Bridge{Name: name, Interfaces: ports, STP: stp, Inherit: true, Backend: hostnet.Auto, ActiveBackend: hostnet.Runtime, RollbackTimeout: DefaultRollback, Active: active}, true
	}
	b = r.Want
	b.Name, b.STP, b.Active = name, stp, active
	b.Interfaces = slices.DeleteFunc(slices.Clone(b.Interfaces), func(port string) bool { return !slices.Contains(ports, port) })
	if b.MTU != 0 {
		b.MTU = link.MTU
	}
	var lostAddress, lostRoute bool
	for _, want := range r.settings() {
		if !slices.ContainsFunc(m.Settings(name), want.Meant) {
			lostAddress, lostRoute = lostAddress || want.Object == "addr", lostRoute || want.Object == "route"
		}
	}
	switch {
	case b.Inherit && lostAddress:
		// What was inherited is not all there any more: then the list of what is shows it.
		b.Inherit, b.Addresses = false, active
	case !b.Inherit && !b.DHCP:
		b.Addresses = slices.DeleteFunc(slices.Clone(b.Addresses), func(a netip.Prefix) bool { return !slices.Contains(active, a) })
		if lostRoute {
			b.Gateway, b.Metric = netip.Addr{}, 0
		}
	}
	return b, true
}
