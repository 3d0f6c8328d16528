package ovn

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// IntegrationBridge is the bridge of a chassis that its machines are plugged into.
const IntegrationBridge = "br-int"

// GuestPort is the port of a network that an interface of a machine is bound to, in plain values.
type GuestPort struct {
	// Name is the interface's UUID, by which its chassis knows it, and Machine the UUID of its domain.
	Name, Machine string
	Network       string
	MAC           string
	// Addresses are those that the port is known to have, the one that DHCP gives to it first. Without any, a network with a pool draws one.
	Addresses []netip.Addr
	// DHCP has the network's DHCP answer the guest, with Hostname where the address is fixed.
	DHCP     bool
	Hostname string
	// Secure lets nothing else pass than what comes from the MAC address, Addresses and Allowed, which are addresses and prefixes.
	Secure  bool
	Allowed []string
	// Groups are the security groups that the port is in, by name. Without any, everything passes.
	Groups []string
	// Drawn is what the network's pool gave to the port, as it is read; invalid for none.
	Drawn netip.Addr
}

// FormatNetworkID is the id of a network, by a reference to the machine with the database and the network's name.
func FormatNetworkID(machine, name string) string { return machine + networkInfix + name }

// SplitNetworkID is the inverse of FormatNetworkID.
func SplitNetworkID(id string) (machine, name string, err error) {
	machine, name, ok := strings.Cut(id, networkInfix)
	if !ok || machine == "" || name == "" {
		return "", "", fmt.Errorf("write the id of a virtcluster_ovn_network, such as ssh://root@10.0.0.100%snodes", networkInfix)
	}
	return machine, name, nil
}

const networkInfix = "#network/"

// SameNetwork says whether two ids are of one network, whatever they say of its machine's key.
func SameNetwork(a, b string) bool { return host.WithoutKey(a) == host.WithoutKey(b) }

// TakenError says that another port of the network has the address, or the MAC address.
type TakenError struct {
	// By is the mark of that port's owner.
	By owner.Mark
	// Detail says what is taken, and by which port.
	Detail string
}

func (e *TakenError) Error() string { return e.Detail }

// CheckPort finds what keeps a network from having the port, at the attributes of an interface: "ovn_network", "ip", "mac". Another port that
// is in the way is a *TakenError there.
func (n *Northbound) CheckPort(ctx context.Context, want GuestPort) ([]*service.AttributeError, error) {
	on, err := networkThing{want.Network}.findRows(ctx, n)
	if err != nil {
		return nil, err
	}
	return want.checkOn(n, on), nil
}

// CheckIn finds what in a network, as it is or as it is planned, keeps it from giving the port its address, at the attribute "ip".
func (p *GuestPort) CheckIn(n Network) (problems []*service.AttributeError) {
	wrong := func(format string, args ...any) {
		problems = append(problems, &service.AttributeError{Path: []any{"ip"}, Err: fmt.Errorf(format, args...)})
	}
	if !p.isFixed() {
		return nil
	}
	switch a := p.Addresses[0]; {
	case n.DHCP == nil:
		wrong("network %q gives no addresses: give it a cidr and dhcp, or write the address among addresses to set it inside the guest", n.Name)
	case !rangeOfHosts(n.CIDR).Contains(a):
		wrong("network %q has %s: choose an address of a machine in there, not %s", n.Name, n.CIDR, a)
	case a == n.Gateway:
		wrong("%s is the gateway of network %q: choose another address", a, n.Name)
	}
	return problems
}

// checkOn is CheckPort by the rows of the network.
func (p *GuestPort) checkOn(n *Northbound, on networkRows) []*service.AttributeError {
	if on.network == nil {
		return []*service.AttributeError{{Path: []any{"ovn_network"}, Err: fmt.Errorf("%s has no network %q: make it with virtcluster_ovn_network, and refer to that resource's id", n, p.Network)}}
	}
	problems := p.CheckIn(on.readNetwork())
	for _, other := range on.others {
		if other.Name == p.Name {
			continue
		}
		mac, addresses := other.parseAddresses()
		taken := func(attribute string, what any) {
			mark := owner.Parse(other.ExternalIDs[markKey])
			problems = append(problems, &service.AttributeError{Path: []any{attribute}, Err: &TakenError{mark, fmt.Sprintf(
				"port %q of network %q (%s) has %s already: choose another one, or change that port", other.Name, p.Network, mark.Whose(), what)}})
		}
		if mac == p.MAC {
			taken("mac", mac)
		}
		for at, a := range p.Addresses {
			if slices.Contains(addresses, a) {
				taken(map[bool]string{true: "ip", false: "addresses"}[p.isFixed() && at == 0], a)
			}
		}
	}
	return problems
}

// IsUserSpace says whether the chassis of a host forwards in user space: there nobody fills in the checksums that a sender leaves to its
// network card.
func (n *Northbound) IsUserSpace(ctx context.Context, host string) (bool, error) {
	rows, err := Rows(ctx, n.South, func(c *ChassisRow) bool { return shortName(c.Hostname) == shortName(host) })
	return slices.ContainsFunc(rows, func(c ChassisRow) bool { return c.OtherConfig["datapath-type"] == "netdev" }), err
}

// PortsOf lists the names of the ports of a machine, by its domain's UUID.
func (n *Northbound) PortsOf(ctx context.Context, machine string) (names []string, err error) {
	rows, err := Rows(ctx, n.North, func(p *Port) bool { return p.ExternalIDs[machineKey] == machine })
	for _, p := range rows {
		names = append(names, p.Name)
	}
	slices.Sort(names)
	return names, err
}

// parseAddresses returns the MAC address and the addresses that a port is known to have, drawn ones among them.
func (p *Port) parseAddresses() (mac string, all []netip.Addr) {
	texts := slices.Clone(p.Addresses)
	if p.Drawn != nil {
		texts = append(texts, *p.Drawn)
	}
	for _, text := range texts {
		for word := range strings.FieldsSeq(text) {
			if a, err := netip.ParseAddr(word); err == nil {
				all = append(all, a)
			} else if strings.Count(word, ":") == 5 {
				mac = strings.ToLower(word)
			}
		}
	}
	return mac, all
}

// isFixed says whether DHCP gives the port the first of its addresses.
func (p *GuestPort) isFixed() bool { return p.DHCP && len(p.Addresses) > 0 }

// drawsFrom says whether the network draws an address for the port.
func (p *GuestPort) drawsFrom(on Network) bool {
	return p.DHCP && len(p.Addresses) == 0 && len(on.poolSet().Ranges()) > 0
}

// formatColumns returns what the row of the port has, but for its references.
func (p *GuestPort) formatColumns(on Network) map[string]any {
	known := []string{strings.Join(append([]string{p.MAC}, textsOf(p.Addresses)...), " ")}
	if p.drawsFrom(on) {
		known[0] = p.MAC + " dynamic"
	}
	sendable := []string{}
	if p.Secure {
		sendable = append(sendable, strings.Join(slices.Concat([]string{p.MAC}, textsOf(p.Addresses), p.Allowed), " "))
	} else {
		// What else the guest sends from, OVN learns by asking everybody.
		known = append(known, "unknown")
	}
	return map[string]any{"addresses": texts(known...), "port_security": texts(sendable...)}
}

// formatOptions returns those of the port that are its own. A text without quotes would have OVN not answer the port at all.
func (p *GuestPort) formatOptions() map[string]string {
	if p.isFixed() && p.Hostname != "" {
		return map[string]string{"hostname": formatOption("hostname", p.Hostname)}
	}
	return map[string]string{"hostname": ""}
}

// readRow fills in what a row says. One that does not let the guest send from all that it is known to have is not secure as it was wanted.
func (p *GuestPort) readRow(row *Port) {
	p.MAC, p.Addresses = (&Port{Addresses: row.Addresses}).parseAddresses()
	p.DHCP = row.DHCPv4 != nil
	if name := row.Options["hostname"]; name != "" {
		p.Hostname = readOption("hostname", name)
	}
	if row.Drawn != nil {
		if _, drawn := (&Port{Addresses: []string{*row.Drawn}}).parseAddresses(); len(drawn) > 0 {
			p.Drawn = drawn[0]
		}
	}
	words := strings.Fields(strings.Join(row.PortSecurity, " "))
	p.Secure = len(words) > 0
	for _, own := range append([]string{p.MAC}, textsOf(p.Addresses)...) {
		at := slices.Index(words, own)
		if at < 0 {
			p.Secure = false
			return
		}
		words = slices.Delete(words, at, at+1)
	}
	if len(words) > 0 {
		p.Allowed = words
	}
}
