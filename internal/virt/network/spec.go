// Package network is a libvirt network as plain values: Validate, Render onto its XML, Parse, Compare, and the store that makes a
// hypervisor have it. It has no framework types.
package network

import (
	"cmp"
	"maps"
	"net/netip"
	"reflect"
	"slices"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// State is what a network is besides its definition.
type State struct {
	Autostart bool `attr:"autostart"`
	Active    bool `attr:"active"`
}

// Spec is a network in plain values: its definition, what it is besides, and what only reading tells.
type Spec struct {
	Definition
	State
	// UUID and MAC of the network that was read.
	UUID string `attr:"id"`
	MAC  string `attr:"mac"`
	// CutOff are the running machines that the network's bridge has lost.
	CutOff []string
	// Lost are routes of the configuration that the machine of the running network does not have.
	Lost []StaticRoute
	// Live is the running definition that was read; nil where the network is inactive.
	Live *Definition
}

// Validate finds what is wrong without asking any machine.
func (s Spec) Validate() []service.Problem { return s.Definition.Validate() }

// readSpec converts what the hypervisor has.
func readSpec(n *hypervisor.Network, known ...netip.Prefix) (Spec, error) {
	got := Spec{UUID: n.UUID, State: State{Autostart: n.Autostart, Active: n.Active()}}
	var err error
	if got.Definition, err = Parse(n.ConfigXML, known...); err != nil {
		return got, err
	}
	if mac := n.Current().MAC; mac != nil {
		got.MAC = mac.Address
	}
	if n.Active() {
		live, err := Parse(n.LiveXML, known...)
		if err != nil {
			return got, err
		}
		live = AlignRunning(live, got.Definition)
		live.DHCP = live.DHCP.keepListedHosts(got.DHCP.listedHosts(), hypervisor.DHCPHosts(n.Live))
		got.Live = &live
	}
	return got, nil
}

// setLostRoutes notes the routes that the hypervisor's machine has lost. Those that the configuration has are in Lost; the others,
// which only the running definition still names, are dropped from it.
func (s *Spec) setLostRoutes(lost []StaticRoute) {
	for _, r := range lost {
		if slices.Contains(s.Routes, r) {
			s.Lost = append(s.Lost, r)
		}
	}
	if s.Live != nil {
		s.Live.Routes = DropLostRoutes(s.Live.Routes, lost, s.Routes)
	}
}

// keepListedHosts returns the DHCP of the running network with those reservations as its Hosts that the network lists: the running
// definition has all reservations, and only the configuration says which of them are listed.
func (d *DHCP) keepListedHosts(listed map[string]Host, runs []hypervisor.DHCPHost) *DHCP {
	if d == nil {
		return nil
	}
	c := *d
	c.Hosts = nil
	for _, h := range runs {
		if _, ok := listed[h.MAC]; ok && h.MAC != "" {
			if c.Hosts == nil {
				c.Hosts = map[string]Host{}
			}
			c.Hosts[h.MAC] = Host{h.IP, h.Name}
		}
	}
	return &c
}

// Modes of a network, by what happens to its traffic (https://libvirt.org/formatnetwork.html, "Connectivity").
const (
	NAT      = "nat"
	Route    = "route"
	Open     = "open"
	Isolated = "isolated"
	Bridge   = "bridge"
)

// Modes lists them all.
var Modes = []string{NAT, Route, Open, Isolated, Bridge}

// Definition is everything of a network's XML that this provider models. The zero value of an address, a prefix or a
// text means "none". The tags say which attribute of the resource a field is (convert.ToPlain).
type Definition struct {
	Name string `attr:"name"`
	Mode string `attr:"mode"`
	// Bridge is the device; "" leaves the choice to libvirt.
	Bridge string `attr:"bridge"`
	// Subnet and Gateway, the hypervisor's own address in it; the same for IPv6.
	Subnet   netip.Prefix `attr:"cidr"`
	Gateway  netip.Addr   `attr:"gateway"`
	Subnet6  netip.Prefix `attr:"ipv6_cidr"`
	Gateway6 netip.Addr   `attr:"ipv6_gateway"`
	// NAT6 translates IPv6 addresses too; libvirt routes them otherwise. Mode nat only.
	NAT6 bool `attr:"ipv6_nat"`
	// DHCP nil means that no addresses are given out.
	DHCP   *DHCP         `attr:"dhcp"`
	Domain string        `attr:"domain"`
	DNS    DNS           `attr:"dns"`
	Routes []StaticRoute `attr:"routes"`
	PXE    PXE           `attr:"pxe"`
	// MTU in bytes; 0 leaves it to libvirt.
	MTU int64 `attr:"mtu"`
	// VirtualPort is "openvswitch" or "". Mode bridge only.
	VirtualPort string `attr:"virtual_port"`
}

// DHCP says which addresses are given out, and with what. Other reservations than Hosts are not part of it: they belong to
// whoever made them.
type DHCP struct {
	Ranges []Range `attr:"ranges"`
	// Hosts are reservations of the network's own, by MAC address in lower case.
	Hosts map[string]Host `attr:"hosts,canonical"`
	// LeaseSeconds, of the ranges and of reservations; nil leaves libvirt's default, 0 means for ever.
	LeaseSeconds *int64 `attr:"lease_seconds"`
	// Options by name or number as dnsmasq takes them: "ntp-server", "42", "option6:dns-server".
	Options map[string]string `attr:"options"`
}

// Range of addresses, both ends included.
type Range struct {
	Start netip.Addr `attr:"start"`
	End   netip.Addr `attr:"end"`
}

// DNS server of the network. The zero value is libvirt's default.
type DNS struct {
	Disabled bool `attr:"enabled,not"`
	// LocalOnly keeps questions about Domain from being forwarded.
	LocalOnly  bool        `attr:"local_only"`
	Forwarders []Forwarder `attr:"forwarders"`
	// Hosts are extra records: address → names.
	Hosts map[netip.Addr][]string `attr:"hosts"`
	// Repeated are the addresses that have several records in what was read, of which Hosts has all names.
	Repeated []netip.Addr
}

// Forwarder sends questions about a domain (or all, when Domain is "") to an address. Without an address they go where
// all others go, not to the forwarder of a domain above (https://libvirt.org/formatnetwork.html, "forwarder").
type Forwarder struct {
	Domain  string     `attr:"domain"`
	Address netip.Addr `attr:"address"`
}

// StaticRoute is a static route on the hypervisor through a machine on the network.
type StaticRoute struct {
	Destination netip.Prefix `attr:"cidr"`
	Via         netip.Addr   `attr:"via"`
}

// PXE is what a machine that boots from the network is told.
type PXE struct {
	// TFTPRoot is a directory on the hypervisor that the network's own TFTP server serves.
	TFTPRoot string `attr:"tftp_root"`
	BootFile string `attr:"boot_file"`
	// Server is the TFTP server; the invalid address means the hypervisor.
	Server netip.Addr `attr:"server"`
}

// FirstHostAddress returns the gateway that a subnet has by default: its first host address.
func FirstHostAddress(subnet netip.Prefix) netip.Addr {
	if !subnet.IsValid() {
		return netip.Addr{}
	}
	return subnet.Masked().Addr().Next()
}

// fillDefaults returns the network with the gateways that it leaves out.
func (n Definition) fillDefaults() Definition {
	if !n.Gateway.IsValid() {
		n.Gateway = FirstHostAddress(n.Subnet)
	}
	if !n.Gateway6.IsValid() {
		n.Gateway6 = FirstHostAddress(n.Subnet6)
	}
	return n
}

// canonicalForm returns the network with defaults filled in and every list in a fixed order, so that equal networks compare equal.
func (n Definition) canonicalForm() Definition {
	n = n.fillDefaults()
	n.DHCP = n.DHCP.canonicalForm()
	n.DNS = n.DNS.canonicalForm()
	n.Routes = sortedCopy(n.Routes, func(a, b StaticRoute) int {
		return cmp.Or(a.Destination.Addr().Compare(b.Destination.Addr()), cmp.Compare(a.Destination.Bits(), b.Destination.Bits()), a.Via.Compare(b.Via))
	})
	return n
}

func (d *DHCP) canonicalForm() *DHCP {
	if d == nil {
		return nil
	}
	c := *d
	c.Ranges = sortedCopy(d.Ranges, func(a, b Range) int { return cmp.Or(a.Start.Compare(b.Start), a.End.Compare(b.End)) })
	if len(d.Options) == 0 {
		c.Options = nil
	}
	if len(d.Hosts) == 0 {
		c.Hosts = nil
	}
	return &c
}

func (d DNS) canonicalForm() DNS {
	d.Forwarders = sortedCopy(d.Forwarders, func(a, b Forwarder) int {
		return cmp.Or(strings.Compare(a.Domain, b.Domain), a.Address.Compare(b.Address))
	})
	hosts := maps.Clone(d.Hosts)
	for address, names := range hosts {
		hosts[address] = sortedCopy(names, strings.Compare)
	}
	if d.Hosts = hosts; len(hosts) == 0 {
		d.Hosts = nil
	}
	d.Repeated = nil // they mean the same
	return d
}

// sortedCopy returns a sorted copy; an empty list is nil.
func sortedCopy[E any](list []E, compare func(a, b E) int) []E {
	if len(list) == 0 {
		return nil
	}
	list = slices.Clone(list)
	slices.SortFunc(list, compare)
	return list
}

// Equal says whether two networks mean the same.
func Equal(a, b Definition) bool {
	return reflect.DeepEqual(a.canonicalForm(), b.canonicalForm())
}
