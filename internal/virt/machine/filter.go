package machine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"libvirt.org/go/libvirtxml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
)

// filterName is the network filter of one interface: libvirt wants filters named, and this one is the node's own.
func filterName(node, mac string) string {
	return FilterPrefix + node + "-" + strings.ReplaceAll(mac, ":", "")
}

// filterUUID is the mark of a filter: libvirt keeps nothing else that could say whose it is. It follows from the machine's own
// UUID, so a filter of the same name that another machine or a person made has another one.
func filterUUID(domain, name string) string {
	space, err := uuid.Parse(domain)
	if err != nil {
		space = uuid.Nil // a machine that does not exist has no filters
	}
	return uuid.NewSHA1(space, []byte(name)).String()
}

// isOwnFilter says whether a filter that is there is the machine's.
func isOwnFilter(f *libvirtxml.NWFilter, domain string) bool {
	return f.UUID == filterUUID(domain, f.Name)
}

// chooseOwnFilters returns the names of those filters that are the machine's, of all that are there by their names and UUIDs.
func chooseOwnFilters(uuids map[string]string, domain string) []string {
	var own []string
	for _, name := range slices.Sorted(maps.Keys(uuids)) {
		if uuids[name] == filterUUID(domain, name) {
			own = append(own, name)
		}
	}
	return own
}

// buildSpoofFilter returns a network filter that passes only what an interface may send: frames from its own MAC
// address, ARP and IP packets from its own addresses and the allowed ones. What arrives is not filtered.
// DHCP passes, because who asks for an address has none yet; so does asking whether an address is free
// (RFC 5227, RFC 4862).
func buildSpoofFilter(node, domain string, i *InterfaceSpec) *libvirtxml.NWFilter {
	f := &spoofFilter{mac: i.MAC, xml: &libvirtxml.NWFilter{Name: filterName(node, i.MAC), Chain: "root"}}
	f.xml.UUID = filterUUID(domain, f.xml.Name)
	f.addRule("drop", -950, libvirtxml.NWFilterRule{MAC: &libvirtxml.NWFilterRuleMAC{
		Match: "no", NWFilterRuleCommonMAC: libvirtxml.NWFilterRuleCommonMAC{SrcMACAddr: filterField(i.MAC)},
	}})
	f.addRule("accept", -900, libvirtxml.NWFilterRule{IP: &libvirtxml.NWFilterRuleIP{
		SrcIPAddr: filterField("0.0.0.0"), DstIPAddr: filterField("255.255.255.255"), Protocol: filterField("udp"),
		NWFilterRuleCommonPort: libvirtxml.NWFilterRuleCommonPort{SrcPortStart: filterField("68"), DstPortStart: filterField("67")},
	}})
	f.addRule("accept", -900, libvirtxml.NWFilterRule{ARP: &libvirtxml.NWFilterRuleARP{ARPSrcMACAddr: filterField(i.MAC), ARPSrcIPAddr: filterField("0.0.0.0")}})
	all := listSendableAddresses(i)
	for _, p := range all {
		if p.Addr().Is6() {
			f.addRule("accept", -800, matchIPv6Source(p))
			continue
		}
		address, bits := filterField(p.Addr().String()), filterField(strconv.Itoa(p.Bits()))
		f.addRule("accept", -800, libvirtxml.NWFilterRule{ARP: &libvirtxml.NWFilterRuleARP{ARPSrcMACAddr: filterField(i.MAC), ARPSrcIPAddr: address, ARPSrcIPMask: bits}})
		f.addRule("accept", -800, libvirtxml.NWFilterRule{IP: &libvirtxml.NWFilterRuleIP{SrcIPAddr: address, SrcIPMask: bits}})
	}
	f.addDiscovery(all)
	f.addRule("drop", 900, libvirtxml.NWFilterRule{ARP: &libvirtxml.NWFilterRuleARP{}})
	f.addRule("drop", 900, libvirtxml.NWFilterRule{RARP: &libvirtxml.NWFilterRuleRARP{}})
	f.addRule("drop", 900, libvirtxml.NWFilterRule{IP: &libvirtxml.NWFilterRuleIP{}})
	f.addRule("drop", 900, libvirtxml.NWFilterRule{IPv6: &libvirtxml.NWFilterRuleIPv6{}})
	return f.xml
}

// spoofFilter is a network filter in the making, for an interface with this MAC address.
type spoofFilter struct {
	mac string
	xml *libvirtxml.NWFilter
}

// addRule adds a rule for what the guest sends.
func (f *spoofFilter) addRule(action string, priority int, rule libvirtxml.NWFilterRule) {
	rule.Action, rule.Direction, rule.Priority = action, "out", priority
	f.xml.Entries = append(f.xml.Entries, libvirtxml.NWFilterEntry{Rule: &rule})
}

// addDiscovery adds what IPv6 needs beside the addresses that were given. The guest cannot play the router
// (134, 137). A filter of libvirt does not see which address a neighbour advertisement (136) is about, only
// who sends it: so only an interface with an IPv6 address advertises at all, and from its own ones only.
// A solicitation (135) tells its sender's MAC address too, so it comes from :: (is this address free?), from
// the interface's own addresses or from the link-local one that belongs to the MAC address. What else is
// sent from a link-local address (DHCPv6, multicast listeners, VRRP) changes no other node's neighbours.
func (f *spoofFilter) addDiscovery(all []netip.Prefix) {
	icmp := func(rule libvirtxml.NWFilterRule, kind string) libvirtxml.NWFilterRule {
		rule.IPv6.Protocol, rule.IPv6.Type = filterField("icmpv6"), filterField(kind)
		return rule
	}
	any := func() libvirtxml.NWFilterRule { return libvirtxml.NWFilterRule{IPv6: &libvirtxml.NWFilterRuleIPv6{}} }
	f.addRule("drop", -900, icmp(any(), "134"))
	f.addRule("drop", -900, icmp(any(), "137"))
	f.addRule("accept", -800, icmp(matchIPv6Source(singleAddress(netip.IPv6Unspecified())), "135"))
	if own := deriveAddresses(f.mac, all); slices.ContainsFunc(all, func(p netip.Prefix) bool { return p.Addr().Is6() }) {
		for _, a := range own {
			f.addRule("accept", -800, matchIPv6Source(singleAddress(a)))
		}
	} else {
		f.addRule("accept", -800, icmp(matchIPv6Source(singleAddress(own[0])), "135"))
	}
	f.addRule("drop", -700, icmp(any(), "135"))
	f.addRule("drop", -700, icmp(any(), "136"))
	f.addRule("accept", -600, matchIPv6Source(singleAddress(netip.IPv6Unspecified())))
	f.addRule("accept", -600, matchIPv6Source(netip.MustParsePrefix("fe80::/10")))
}

func filterField(s string) libvirtxml.NWFilterField { return libvirtxml.NWFilterField{Str: s} }

func matchIPv6Source(p netip.Prefix) libvirtxml.NWFilterRule {
	return libvirtxml.NWFilterRule{IPv6: &libvirtxml.NWFilterRuleIPv6{SrcIPAddr: filterField(p.Addr().String()), SrcIPMask: filterField(strconv.Itoa(p.Bits()))}}
}

func singleAddress(a netip.Addr) netip.Prefix { return netip.PrefixFrom(a, a.BitLen()) }

// deriveAddresses returns the IPv6 addresses that a guest makes of its MAC address (RFC 4291, appendix A): first the
// link-local one, then one in the /64 of each single address among all. A router that advertises that prefix
// makes the guest add it, and the guest may well send from it rather than from the address it was given.
func deriveAddresses(mac string, all []netip.Prefix) []netip.Addr {
	var m [6]byte
	if parsed, err := net.ParseMAC(mac); err == nil {
		copy(m[:], parsed)
	}
	var own []netip.Addr
	within := func(prefix netip.Addr) {
		b := prefix.As16()
		copy(b[8:], []byte{m[0] ^ 2, m[1], m[2], 0xff, 0xfe, m[3], m[4], m[5]})
		if a := netip.AddrFrom16(b); !slices.Contains(own, a) {
			own = append(own, a)
		}
	}
	within(netip.MustParseAddr("fe80::"))
	for _, p := range all {
		if p.Addr().Is6() && p.IsSingleIP() {
			within(p.Addr())
		}
	}
	return own
}

// listSendableAddresses returns the addresses that an interface may send from.
func listSendableAddresses(i *InterfaceSpec) []netip.Prefix {
	var all []netip.Prefix
	for _, a := range append([]netip.Addr{i.IP, i.IPv6}, i.listAddresses()...) {
		if a.IsValid() {
			all = append(all, singleAddress(a))
		}
	}
	for _, text := range i.AllowedAddresses {
		if p, ok := parseRemote(text); ok {
			all = append(all, p)
		}
	}
	return all
}

// defineFilter makes a filter or changes the machine's own one, and returns what takes that back. One of its name that is
// not the machine's is left alone, with an error.
func defineFilter(ctx context.Context, c *hypervisor.Client, domain string, f *libvirtxml.NWFilter) (undo func(context.Context) error, err error) {
	was, err := c.Filter(ctx, f.Name)
	switch {
	case hypervisor.IsNotFound(err):
		was = nil
	case err != nil:
		return nil, err
	case !isOwnFilter(was, domain):
		return nil, fmt.Errorf("hypervisor %s has a network filter %q (%s) that is not this machine's: rename or remove it (virsh nwfilter-undefine)", c.URI(), was.Name, was.UUID)
	default:
		f.UUID = was.UUID // libvirt takes a name with its own UUID only
	}
	if err := c.DefineFilter(ctx, f); err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		if was == nil {
			return c.UndefineFilter(ctx, f.Name)
		}
		return c.DefineFilter(ctx, was)
	}, nil
}

// readGuard returns the filter of what an interface may send, where the interface refers to it and it is there; nil where not.
func readGuard(ctx context.Context, c *hypervisor.Client, m *Machine, x Interface) (*libvirtxml.NWFilter, error) {
	if x.Filter != filterName(m.Name, x.MAC) {
		return nil, nil
	}
	guard, err := c.Filter(ctx, x.Filter)
	if hypervisor.IsNotFound(err) {
		return nil, nil
	}
	return guard, err
}

// readPortSecurity says whether an interface's filter passes what it may send as it is known: a person may have changed or removed it. Where it is known
// to have no filter, a change that was killed may have given it one, of what it may send as it is read. What the filter refers to beside that are the
// interface's security rules.
func readPortSecurity(guard *libvirtxml.NWFilter, m *Machine, was, read *InterfaceSpec) bool {
	known, mac := was, read.MAC
	if was == nil || !was.PortSecurity {
		known = read
	}
	return guard != nil && guardsAs(guard, buildSpoofFilter(m.Name, m.UUID, known), rulesFilterName(m.Name, mac))
}

// guardsAs says whether a filter has the entries of another one alone, beside a reference to that of the security rules.
func guardsAs(is, want *libvirtxml.NWFilter, rules string) bool {
	own := *is
	own.Entries = slices.DeleteFunc(slices.Clone(is.Entries), func(e libvirtxml.NWFilterEntry) bool { return refersTo(e, rules) })
	return sameEntries(listEntries(&own), listEntries(want))
}

// refersTo says whether an entry of a filter is a reference to another filter.
func refersTo(e libvirtxml.NWFilterEntry, filter string) bool {
	return e.Ref != nil && e.Ref.Filter == filter
}

// defineFilters makes the filters of a machine that is new on its hypervisor.
func (b *blueprint) defineFilters(ctx context.Context, c *hypervisor.Client) error {
	for _, f := range b.filters {
		if _, err := defineFilter(ctx, c, b.machine.UUID, f); err != nil {
			return err
		}
	}
	return nil
}

// removeFilters removes all filters that are the machine's own, but for those to keep. It asks the hypervisor and not the machine, whose interfaces do not
// refer any more to what a change that failed has left.
func removeFilters(ctx context.Context, c *hypervisor.Client, domain string, keep []string) error {
	defer lockFilters(c)()
	uuids, err := c.FilterUUIDs(ctx)
	if err != nil {
		return err
	}
	var failed error
	for _, name := range chooseOwnFilters(uuids, domain) {
		if !slices.Contains(keep, name) {
			failed = errors.Join(failed, c.UndefineFilter(ctx, name))
		}
	}
	return failed
}
