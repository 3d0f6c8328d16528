// Package engine is what brings OVN up: its databases on one machine, and the machines that follow them.
package engine

import (
	"fmt"
	"maps"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/ovn"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/plan"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// Datapaths: what forwards packets on the chassis.
const (
	System    = "system"
	Userspace = "userspace"
)

// Engine is OVN on all of its machines, in plain values.
type Engine struct {
	// Central are the endpoints of the machines that have the databases, that by which OVN is known first.
	Central []string `attr:"central"`
	// Address is where chassis reach the databases of the first one; of others it is that of their endpoints.
	Address  netip.Addr         `attr:"address"`
	Chassis  map[string]Chassis `attr:"chassis"`
	Datapath string             `attr:"datapath"`
	// UnderlayMTU is the largest packet between chassis in bytes, and MTU that of guests; 0 while they are not known.
	UnderlayMTU int64 `attr:"underlay_mtu"`
	Install     bool  `attr:"install_packages"`
	// TLS has databases and chassis prove to each other who they are, and a chassis change its own rows only.
	TLS          bool              `attr:"tls"`
	Certificates Certificates      `attr:"certificates"`
	MTU          int64             `attr:"mtu"`
	Northbound   string            `attr:"northbound"`
	Southbound   string            `attr:"southbound"`
	Versions     map[string]string `attr:"versions"`
}

// Chassis is a machine whose guests are on OVN's networks.
type Chassis struct {
	Endpoint   string     `attr:"endpoint"`
	Hypervisor string     `attr:"hypervisor"`
	TunnelIP   netip.Addr `attr:"tunnel_ip"`
	// BridgeMappings are bridges of Open vSwitch, by what networks call the network behind them.
	BridgeMappings map[string]string `attr:"bridge_mappings"`
	// ID is the one that Open vSwitch has for the machine, and OVN for the chassis.
	ID string `attr:"id"`
}

// The port of the southbound database (IANA has none: it is OVN's own), and what an underlay has to carry for the smallest packets of IPv4.
const (
	southboundPort   = 6642
	smallestUnderlay = 576 + ovn.Tunnel
)

// Uses implements plan.User: networks of the plan have the MTU that OVN will have, not the one that its databases have before.
func (e Engine) Uses() []plan.Use {
	mtu := ""
	if e.MTU != 0 {
		mtu = strconv.FormatInt(e.MTU, 10)
	}
	return []plan.Use{
		{Verb: plan.Gives, Kind: plan.OVN, Value: e.Remote()},
		{Verb: plan.Gives, Kind: plan.OVNMTU, Value: e.Remote(), For: mtu, Known: []string{"mtu"}},
		// The ids of new chassis are not known yet, so that all of them count as unknown: one whose hypervisor is not known reads as one without.
		{Verb: plan.Gives, Kind: plan.OVNChassis, Value: e.Remote(), Of: e.listPlannedChassis()},
	}
}

// listPlannedChassis returns the chassis as nodes of the plan are compared with them, by name.
func (e Engine) listPlannedChassis() (all []ovn.PlannedChassis) {
	for _, name := range slices.Sorted(maps.Keys(e.Chassis)) {
		all = append(all, ovn.PlannedChassis{Name: name, Hypervisor: e.Chassis[name].Hypervisor})
	}
	return all
}

// CentralAddress is the address of an endpoint, where it has one.
func CentralAddress(endpoint string) (netip.Addr, bool) {
	u, err := url.Parse(endpoint)
	if err != nil {
		return netip.Addr{}, false
	}
	a, err := netip.ParseAddr(u.Hostname())
	return a, err == nil
}

// Remote is where chassis reach the southbound database, in OVN's words.
func (e Engine) Remote() string { return e.listRemotes(southboundPort) }

// ListSockets returns where the northbound database is reached, on each machine that has it: its socket, by SSH.
func (e Engine) ListSockets() string {
	var all []string
	for _, endpoint := range e.Central {
		machine, _, _ := strings.Cut(host.WithoutKey(endpoint), "?") // what follows is how it is reached, and not where it is
		all = append(all, machine+ovn.NorthDB.Socket)
	}
	slices.Sort(all)
	return strings.Join(all, ",")
}

// newListener returns where the southbound database listens, and what it lets those do who connect there.
func (e Engine) newListener() ovn.Listener {
	address := e.Address
	switch { // of several machines each one listens at all of its addresses, as what is in the database is said to all of them
	case e.isCluster() && address.Is6():
		address = netip.IPv6Unspecified()
	case e.isCluster():
		address = netip.IPv4Unspecified()
	}
	l := ovn.Listener{Target: fmt.Sprintf("p%s:%d:%s", e.connectionMethod(), southboundPort, formatAddress(address))}
	if e.TLS {
		l.Role = "ovn-controller" // ovn-architecture(7), Role-Based Access Controls for the Southbound DB
	}
	return l
}

func (e Engine) connectionMethod() string {
	if e.TLS {
		return "ssl"
	}
	return "tcp"
}

// Validate finds what is wrong with the values.
func (e Engine) Validate() []service.Problem {
	var problems []service.Problem
	wrong := func(path []any, summary, format string, args ...any) {
		problems = append(problems, service.Problemf(path, summary, format, args...))
	}
	problems = append(problems, e.validateCentral()...)
	if e.Certificates.renewBefore() >= e.Certificates.validFor() && e.Certificates.ValidFor != "" && e.Certificates.RenewBefore != "" {
		wrong([]any{"certificates", "renew_before"}, "Certificates that are always due", "they are valid for %s: write less", e.Certificates.ValidFor)
	}
	if e.UnderlayMTU != 0 && e.UnderlayMTU < smallestUnderlay {
		wrong([]any{"underlay_mtu"}, "MTU of the underlay too small", "tunnels take %d bytes of each packet, and guests need 576 at least: write %d or more", ovn.Tunnel, smallestUnderlay)
	}
	endpoints, addresses := map[string]string{}, map[netip.Addr]string{}
	for _, name := range slices.Sorted(maps.Keys(e.Chassis)) {
		c, at := e.Chassis[name], []any{"chassis", service.Key(name)}
		if other, twice := endpoints[c.Endpoint]; twice && c.Endpoint != "" {
			wrong(append(at, "endpoint"), "One machine twice", "chassis %q is the same machine", other)
		}
		if other, twice := addresses[c.TunnelIP]; twice && c.TunnelIP.IsValid() {
			wrong(append(slices.Clone(at), "tunnel_ip"), "One address twice", "chassis %q has the tunnel address %s too", other, c.TunnelIP)
		}
		endpoints[c.Endpoint], addresses[c.TunnelIP] = name, name
		for _, physical := range slices.Sorted(maps.Keys(c.BridgeMappings)) {
			if strings.ContainsAny(physical+c.BridgeMappings[physical], ":,\" ") {
				wrong(append(slices.Clone(at), "bridge_mappings", service.Key(physical)), "Invalid bridge mapping", "names of networks and bridges have no colons, commas, quotes and blanks")
			}
		}
	}
	return problems
}

// The keys of external_ids in Open_vSwitch by which a machine follows (ovn-controller(8)).
const (
	remoteKey   = "ovn-remote"
	encapKey    = "ovn-encap-type"
	addressKey  = "ovn-encap-ip"
	datapathKey = "ovn-bridge-datapath-type"
	mappingsKey = "ovn-bridge-mappings"
	idKey       = "system-id"
)

// listSettings returns what a chassis follows by; an empty one is not there. All rows are monitored: a chassis that asks for its own part of them
// is late with each change, and saves nothing below some hundred chassis.
func (e Engine) listSettings(c Chassis) map[string]string {
	s := map[string]string{
		remoteKey: e.Remote(), encapKey: "geneve", addressKey: c.TunnelIP.String(), datapathKey: "", mappingsKey: formatMappings(c.BridgeMappings),
		"ovn-monitor-all": "true", "ovn-remote-probe-interval": "5000", "ovn-openflow-probe-interval": "0",
	}
	if e.Datapath == Userspace {
		s[datapathKey] = "netdev"
	}
	return s
}

func formatMappings(m map[string]string) string {
	var words []string
	for _, physical := range slices.Sorted(maps.Keys(m)) {
		words = append(words, physical+":"+m[physical])
	}
	return strings.Join(words, ",")
}

func parseMappings(text string) map[string]string {
	m := map[string]string{}
	for word := range strings.SplitSeq(text, ",") {
		if physical, bridge, ok := strings.Cut(strings.TrimSpace(word), ":"); ok {
			m[physical] = bridge
		}
	}
	return m
}
