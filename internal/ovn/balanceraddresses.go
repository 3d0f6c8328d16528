package ovn

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
)

// segment is where an address is there once: a network of OVN, or one of the chassis, by its name.
type segment struct {
	ofChassis bool
	name      string
}

func (s segment) String() string {
	if s.ofChassis {
		return fmt.Sprintf("network %q of the chassis", s.name)
	}
	return fmt.Sprintf("network %q", s.name)
}

// answeredAddresses is what a router answers for, as its rows have it or as it is planned.
type answeredAddresses struct {
	// at are the router's own addresses, with their networks.
	at map[segment][]netip.Prefix
	// floating are the addresses outside that lead to guests, which are the values.
	floating map[netip.Addr]string
	// balancers are the load balancers on the router and on its networks.
	balancers []LoadBalancer
	// leaves says that the state has the router, and the plan does not: what is in its way there is compared as it is planned.
	leaves bool
}

// listRouterAddresses returns what each router answers for, by its name. Load balancers and routers of this state are those of the plan, which may move an
// address from one to another; without a plan the router that is meant is as its rows have it, and so are those of others.
func (r balancerRows) listRouterAddresses(meant string, planned Planned) map[string]answeredAddresses {
	all := map[string]answeredAddresses{}
	for name, row := range r.routers {
		a := answeredAddresses{at: map[segment][]netip.Prefix{}, floating: map[netip.Addr]string{}, leaves: name != meant && !planned.keepsMarked(owner.Parse(row.ExternalIDs[markKey]))}
		for _, port := range r.routerPorts {
			if slices.Contains(row.Ports, port.UUID) {
				a.addPort(r.segmentOf(port), port.Networks...)
			}
		}
		for _, x := range r.nat {
			if outside, err := netip.ParseAddr(x.External); err == nil && x.Type == "dnat_and_snat" && slices.Contains(row.NAT, x.UUID) {
				a.floating[outside] = x.Logical
			}
		}
		all[name] = a
	}
	for name, is := range planned.Routers {
		a := answeredAddresses{at: map[segment][]netip.Prefix{}, floating: map[netip.Addr]string{}}
		if is.External != nil && is.External.Address.IsValid() {
			a.addPort(segment{true, is.External.BridgeMapping}, is.External.Address.String())
		}
		for outside, f := range is.Floating {
			if outside, err := netip.ParseAddr(outside); err == nil {
				a.floating[outside] = f.Inside.String()
			}
		}
		all[name] = a
	}
	for name := range r.networks {
		if a, there := all[name]; there {
			for _, s := range r.networks[name] {
				a.addPort(segment{false, s.Name}, gatewayOf(&s).String())
			}
		}
	}
	for name, is := range planned.Routers {
		for _, network := range planned.Networks {
			if slices.Contains(is.Networks, network.Name) && network.Gateway.IsValid() {
				all[name].at[segment{false, network.Name}] = []netip.Prefix{netip.PrefixFrom(network.Gateway, network.CIDR.Bits())}
			}
		}
	}
	r.addBalancers(all, planned)
	return all
}

// addPort adds the addresses of a port that is on a network; those that are none are left out.
func (a answeredAddresses) addPort(on segment, addresses ...string) {
	for _, text := range addresses {
		if p, err := netip.ParsePrefix(text); err == nil && on.name != "" && !slices.Contains(a.at[on], p) {
			a.at[on] = append(a.at[on], p)
		}
	}
}

// segmentOf returns the network that a port of a router is on.
func (r balancerRows) segmentOf(port RouterPort) segment {
	for _, s := range r.switches {
		for _, peer := range r.peers {
			if peer.Options["router-port"] != port.Name || !slices.Contains(s.Ports, peer.UUID) {
				continue
			}
			for _, localnet := range r.localnets {
				if slices.Contains(s.Ports, localnet.UUID) {
					return segment{true, localnet.Options["network_name"]}
				}
			}
			return segment{false, s.Name}
		}
	}
	return segment{}
}

// addBalancers adds the load balancers that are on routers: of this state those of the plan, and those that stay without being in it.
func (r balancerRows) addBalancers(all map[string]answeredAddresses, planned Planned) {
	add := func(name string, b LoadBalancer) {
		a := all[name]
		a.balancers = append(a.balancers, b)
		all[name] = a
	}
	for name, row := range r.routers {
		for _, b := range r.others {
			on := slices.Contains(row.Balancers, b.UUID) || slices.ContainsFunc(r.networks[name], func(s Switch) bool { return slices.Contains(s.Balancers, b.UUID) })
			if !on || !planned.keepsMarked(owner.Parse(b.ExternalIDs[markKey])) {
				continue
			}
			is := LoadBalancer{Name: b.Name, Protocol: "tcp", VIPs: map[string][]string{}}
			if b.Protocol != nil {
				is.Protocol = *b.Protocol
			}
			for vip := range b.VIPs {
				is.VIPs[vip] = nil
			}
			add(name, is)
		}
	}
	for _, b := range planned.Balancers {
		if _, there := all[b.Router]; there {
			add(b.Router, b)
		}
	}
}

// findSegment returns the network of the router that has an address; false where none has.
func (a answeredAddresses) findSegment(address netip.Addr) (segment, bool) {
	for on, prefixes := range a.at {
		if !on.ofChassis && slices.ContainsFunc(prefixes, func(p netip.Prefix) bool { return p.Contains(address) }) {
			return on, true
		}
	}
	return segment{}, false
}

// findAddress returns the network in which the router itself has an address; false for none.
func (a answeredAddresses) findAddress(address netip.Addr) (segment, bool) {
	for on, prefixes := range a.at {
		if slices.ContainsFunc(prefixes, func(p netip.Prefix) bool { return p.Addr() == address }) {
			return on, true
		}
	}
	return segment{}, false
}

// findListener returns the load balancer, but the one of a name, that listens at an address: at the same port of the same protocol, or at any port
// where anyPort says so. A port of 0 is all of them, as ovn-nbctl lets a person write it.
func (a answeredAddresses) findListener(but string, protocol string, at netip.AddrPort, anyPort bool) (name, vip string) {
	for _, b := range a.balancers {
		if b.Name == but {
			continue
		}
		for _, vip := range slices.Sorted(maps.Keys(b.VIPs)) {
			is, err := netip.ParseAddrPort(vip)
			if err != nil {
				address, _ := netip.ParseAddr(vip)
				is = netip.AddrPortFrom(address, 0)
			}
			if is.Addr() == at.Addr() && (anyPort || is.Port() == 0 || is.Port() == at.Port() && b.Protocol == protocol) {
				return b.Name, vip
			}
		}
	}
	return "", ""
}

// findHolder says who answers already for an address that a load balancer is to listen at, nil for nobody: the router that it is on, another load balancer
// there, or another router that is on the same network, inside or of the chassis. Networks that have nothing in common may have the same addresses.
func findHolder(want LoadBalancer, at netip.AddrPort, routers map[string]answeredAddresses) error {
	own, there := routers[want.Router]
	if !there {
		return nil
	}
	const choose = "write an address that nobody has"
	if on, has := own.findAddress(at.Addr()); has && on.ofChassis {
		return fmt.Errorf("%s is the address of router %q on %s: %s", at.Addr(), want.Router, on, choose)
	} else if has {
		return fmt.Errorf("%s is the gateway of %s, which router %q has: %s", at.Addr(), on, want.Router, choose)
	}
	if inside, has := own.floating[at.Addr()]; has {
		return fmt.Errorf("%s is a floating address of router %q, which leads to %s: %s", at.Addr(), want.Router, inside, choose)
	}
	if name, vip := own.findListener(want.Name, want.Protocol, at, false); name != "" {
		return fmt.Errorf("load balancer %q listens at %s on router %q already: write another address, or another port", name, vip, want.Router)
	}
	on, inside := own.findSegment(at.Addr())
	for _, name := range slices.Sorted(maps.Keys(routers)) {
		other := routers[name]
		if name == want.Router || other.leaves {
			continue
		}
		for common := range other.at {
			if _, both := own.at[common]; !both || inside && common != on || !inside && !common.ofChassis {
				continue
			}
			if slices.ContainsFunc(other.at[common], func(p netip.Prefix) bool { return p.Addr() == at.Addr() }) {
				return fmt.Errorf("router %q has %s on %s: %s", name, at.Addr(), common, choose)
			}
			if guest, has := other.floating[at.Addr()]; has && !inside {
				return fmt.Errorf("%s is a floating address of router %q on %s, which leads to %s: %s", at.Addr(), name, common, guest, choose)
			}
			if _, elsewhere := other.findSegment(at.Addr()); elsewhere && !inside {
				continue
			}
			if balancer, vip := other.findListener(want.Name, want.Protocol, at, true); balancer != "" {
				return fmt.Errorf("load balancer %q of router %q listens at %s on %s: %s", balancer, name, vip, common, choose)
			}
		}
	}
	return nil
}
