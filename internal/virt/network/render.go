package network

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/beevik/etree"
)

const dnsmasqNamespace = "http://libvirt.org/schemas/network/dnsmasq/1.0"

// Render writes the network onto XML, from libvirt or "" for a new network. Only what is modelled changes:
// UUID, MAC, reservations and everything unknown stay. Rendering twice changes nothing more. The known subnets say
// which of several is meant, as for Parse.
func (n Definition) Render(onto string, known ...netip.Prefix) (string, error) {
	n = n.fillDefaults()
	root := newElement("network")
	if onto != "" {
		var err error
		if root, err = parseXML(onto); err != nil {
			return "", err
		}
	}
	was := n.parseTree(root, known...)
	ensureChild(root, "name").SetText(n.Name)
	n.renderForward(root)
	if n.Bridge != "" {
		setAttribute(ensureChild(root, "bridge"), "name", n.Bridge)
	} else {
		removeChildrenNamed(root, "bridge")
	}
	if n.Mode == Bridge {
		// The bridge is somebody else's: libvirt refuses what describes its own.
		removeChildrenNamed(root, "mac")
		if b := root.SelectElement("bridge"); b != nil {
			setAttribute(b, "stp", "")
			setAttribute(b, "delay", "")
		}
	}
	setChild(root, "virtualport", n.VirtualPort != "", "type", n.VirtualPort)
	setChild(root, "mtu", n.MTU != 0, "size", strconv.FormatInt(n.MTU, 10))
	setChild(root, "domain", n.Domain != "", "name", n.Domain)
	if d := root.SelectElement("domain"); d != nil {
		setAttribute(d, "localOnly", yesOrEmpty(n.DNS.LocalOnly))
	}
	n.renderDNS(root)
	n.renderSubnet(root, false, n.Subnet, n.Gateway, known, was.DHCP.leaseSeconds())
	n.renderSubnet(root, true, n.Subnet6, n.Gateway6, known, was.DHCP.leaseSeconds())
	n.renderRoutes(root)
	n.renderOptions(root)
	n.renderNote(root)
	if err := n.renderHosts(root, was); err != nil {
		return "", err
	}
	return renderXML(root) + "\n", nil
}

// setChild makes a child element with one modelled attribute be there, or be gone.
func setChild(e *etree.Element, name string, wanted bool, attribute, value string) {
	if wanted {
		setAttribute(ensureChild(e, name), attribute, value)
	} else {
		removeChildrenNamed(e, name)
	}
}

func yesOrEmpty(on bool) string {
	if on {
		return "yes"
	}
	return ""
}

func (n Definition) renderForward(root *etree.Element) {
	f := root.SelectElement("forward")
	was := NAT // libvirt's default where the element has no mode
	if f != nil && readAttribute(f, "mode") != "" {
		was = readAttribute(f, "mode")
	}
	firewalled := func(mode string) bool { return mode == NAT || mode == Route }
	switch {
	case f == nil || was == n.Mode:
	case firewalled(was) && firewalled(n.Mode):
		removeChildrenNamed(f, "nat") // the devices to forward to stay
	default:
		// Interfaces, ports and addresses of one mode mean nothing in another.
		removeChildrenNamed(root, "forward")
	}
	if n.Mode == Isolated {
		removeChildrenNamed(root, "forward")
		return
	}
	fresh := f == nil || was != n.Mode
	if f = ensureChild(root, "forward"); fresh && n.Mode == NAT {
		// libvirt's own default, which it writes into the running definition only: with it, the two are equal.
		ensureChild(f, "nat").AddChild(newElement("port", "start", "1024", "end", "65535"))
	}
	setAttribute(f, "mode", n.Mode)
	nat := f.SelectElement("nat")
	switch {
	case n.NAT6:
		setAttribute(ensureChild(f, "nat"), "ipv6", "yes")
	case nat != nil:
		setAttribute(nat, "ipv6", "")
		removeChildren(f, func(e *etree.Element) bool { return e == nat && isEmptyElement(nat) })
	}
}

func (n Definition) renderDNS(root *etree.Element) {
	d := ensureChild(root, "dns")
	setAttribute(d, "enable", map[bool]string{true: "no"}[n.DNS.Disabled])
	if want := n.DNS.Forwarders; !slices.Equal(n.canonicalForm().DNS.Forwarders, n.parseTree(root).DNS.Forwarders) {
		removeChildrenNamed(d, "forwarder")
		for _, f := range want {
			d.AddChild(newElement("forwarder", "domain", f.Domain, "addr", addressText(f.Address)))
		}
	}
	removeChildrenNamed(d, "host")
	for _, address := range slices.SortedFunc(maps.Keys(n.DNS.Hosts), netip.Addr.Compare) {
		d.AddChild(newDNSHost(address, n.DNS.Hosts[address]))
	}
	removeChildren(root, func(e *etree.Element) bool { return e == d && isEmptyElement(d) })
}

// parseTree returns what the tree says now, for deciding whether a list has to be written anew.
func (Definition) parseTree(root *etree.Element, known ...netip.Prefix) Definition {
	was, err := Parse(renderXML(root), known...)
	if err != nil {
		return Definition{} // a value that cannot be read is written anew
	}
	return was.canonicalForm()
}

func newDNSHost(address netip.Addr, names []string) *etree.Element {
	h := newElement("host", "ip", address.String())
	for _, name := range names {
		e := newElement("hostname")
		e.SetText(name)
		h.AddChild(e)
	}
	return h
}

// renderSubnet writes one family's <ip>; an invalid prefix takes away all of the family, for any that stayed would be
// read as the network's.
func (n Definition) renderSubnet(root *etree.Element, six bool, subnet netip.Prefix, gateway netip.Addr, known []netip.Prefix, lease *int64) {
	if !subnet.IsValid() {
		removeChildren(root, func(e *etree.Element) bool { return e.FullTag() == "ip" && isIPv6(e) == six })
		return
	}
	ip := (&parser{root: root}).findModelled(six, known)
	if ip == nil {
		ip = newElement("ip")
		root.AddChild(ip)
	}
	if six {
		setAttribute(ip, "family", "ipv6")
	}
	setAttribute(ip, "address", gateway.String())
	setAttribute(ip, "netmask", "")
	setAttribute(ip, "prefix", strconv.Itoa(subnet.Bits()))
	if !six {
		setChild(ip, "tftp", n.PXE.TFTPRoot != "", "root", n.PXE.TFTPRoot)
	}
	n.renderDHCP(ip, six, lease)
}

// renderDHCP writes what a subnet gives out; the lease time is the one that the network had.
func (n Definition) renderDHCP(ip *etree.Element, six bool, lease *int64) {
	d := ensureChild(ip, "dhcp")
	ranges := n.listRangesOfFamily(six)
	hosts := d.SelectElements("host")
	present, bootp := d.SelectElements("range"), d.SelectElement("bootp")
	removeChildren(d, func(e *etree.Element) bool {
		return e.FullTag() == "range" || e.FullTag() == "host" || e.FullTag() == "bootp"
	})
	p := &parser{root: ip}
	for _, r := range ranges {
		d.AddChild(p.renderRange(r, present, lease, n.DHCP.leaseSeconds()))
	}
	for ; len(hosts) > 0; hosts = hosts[1:] {
		p.followLeaseTime(hosts[0], lease, n.DHCP.leaseSeconds(), len(ranges) > 0)
		d.AddChild(hosts[0]) // all else of a reservation is its owner's
	}
	if n.PXE.BootFile != "" && !six {
		if bootp == nil {
			bootp = newElement("bootp")
		}
		setAttribute(bootp, "file", n.PXE.BootFile)
		setAttribute(bootp, "server", addressText(n.PXE.Server))
		d.AddChild(bootp)
	}
	removeChildren(ip, func(e *etree.Element) bool { return e == d && isEmptyElement(d) })
}

// listRangesOfFamily returns the ranges of one family of addresses.
func (n Definition) listRangesOfFamily(six bool) []Range {
	return slices.DeleteFunc(slices.Clone(n.DHCP.listRanges()), func(r Range) bool { return r.Start.Is6() != six })
}

func (d *DHCP) listRanges() []Range {
	if d == nil {
		return nil
	}
	return d.Ranges
}

// renderRoutes keeps the elements of routes that stay, for they may have a metric.
func (n Definition) renderRoutes(root *etree.Element) {
	p, missing := parser{root: root}, slices.Clone(n.Routes)
	removeChildren(root, func(e *etree.Element) bool {
		if e.FullTag() != "route" {
			return false
		}
		at := slices.Index(missing, p.readRoute(e))
		if at >= 0 {
			missing = slices.Delete(missing, at, at+1)
		}
		return at < 0
	})
	for _, r := range missing {
		family := ""
		if r.Via.Is6() {
			family = "ipv6"
		}
		root.AddChild(newElement("route", "family", family, "address", r.Destination.Addr().String(),
			"prefix", strconv.Itoa(r.Destination.Bits()), "gateway", r.Via.String()))
	}
}

func (n Definition) renderOptions(root *etree.Element) {
	var options map[string]string
	if n.DHCP != nil {
		options = n.DHCP.Options
	}
	block := findDNSMasqBlock(root)
	if block == nil && len(options) == 0 {
		return
	}
	if block == nil {
		setAttribute(root, "xmlns:dnsmasq", dnsmasqNamespace)
		block = newElement("dnsmasq:options")
		root.AddChild(block)
	}
	prefix, _, _ := strings.Cut(block.FullTag(), ":")
	removeChildren(block, func(e *etree.Element) bool { _, _, ok := parseDHCPOption(e); return ok })
	for _, name := range slices.Sorted(maps.Keys(options)) {
		spelled := name
		if _, err := strconv.Atoi(name); err != nil && !strings.Contains(name, ":") {
			spelled = "option:" + name
		}
		block.AddChild(newElement(prefix+":option", "value", fmt.Sprintf("dhcp-option=%s,%s", spelled, options[name])))
	}
	removeChildren(root, func(e *etree.Element) bool {
		return e == block && len(block.SelectElements(prefix+":option")) == 0 && hasOnlyNamespace(block)
	})
}

// hasOnlyNamespace says whether an element has nothing but the declaration of its prefix.
func hasOnlyNamespace(e *etree.Element) bool {
	for _, a := range e.Attr {
		if !strings.HasPrefix(a.FullKey(), "xmlns:") {
			return false
		}
	}
	return len(e.ChildElements()) == 0
}

func addressText(a netip.Addr) string {
	if !a.IsValid() {
		return ""
	}
	return a.String()
}
