package network

import (
	"net/netip"
	"slices"

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
