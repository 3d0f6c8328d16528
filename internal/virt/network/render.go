package network

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor/xmltree"
)

const dnsmasqNamespace = "http://libvirt.org/schemas/network/dnsmasq/1.0"

// Render writes the network onto XML, from libvirt or "" for a new network. Only what is modelled changes:
// UUID, MAC, reservations and everything unknown stay. Rendering twice changes nothing more. The known subnets say
// which of several is meant, as for Parse.
func (n Definition) Render(onto string, known ...netip.Prefix) (string, error) {
	n = n.withDefaults()
	root := xmltree.New("network")
	if onto != "" {
		var err error
		if root, err = xmltree.Parse(onto); err != nil {
			return "", err
		}
	}
	was := n.parsed(root, known...)
	root.Ensure("name").SetText(n.Name)
	n.renderForward(root)
	if n.Bridge != "" {
		root.Ensure("bridge").Set("name", n.Bridge)
	} else {
		root.RemoveNamed("bridge")
	}
	if n.Mode == Bridge {
		// The bridge is somebody else's: libvirt refuses what describes its own.
		root.RemoveNamed("mac")
		if b := root.Child("bridge"); b != nil {
			b.Set("stp", "")
			b.Set("delay", "")
		}
	}
	only(root, "virtualport", n.VirtualPort != "", "type", n.VirtualPort)
	only(root, "mtu", n.MTU != 0, "size", strconv.FormatInt(n.MTU, 10))
	only(root, "domain", n.Domain != "", "name", n.Domain)
	if d := root.Child("domain"); d != nil {
		d.Set("localOnly", yes(n.DNS.LocalOnly))
	}
	n.renderDNS(root)
	n.renderSubnet(root, false, n.Subnet, n.Gateway, known, was.DHCP.lease())
	n.renderSubnet(root, true, n.Subnet6, n.Gateway6, known, was.DHCP.lease())
	n.renderRoutes(root)
	n.renderOptions(root)
	n.renderNote(root)
	return root.String() + "\n", nil
}

// only makes a child element with one modelled attribute be there, or be gone.
func only(e *xmltree.Element, name string, wanted bool, attribute, value string) {
	if wanted {
		e.Ensure(name).Set(attribute, value)
	} else {
		e.RemoveNamed(name)
	}
}

func yes(on bool) string {
	if on {
		return "yes"
	}
	return ""
}

func (n Definition) renderForward(root *xmltree.Element) {
	f := root.Child("forward")
	was := NAT // libvirt's default where the element has no mode
	if f != nil && f.Attr("mode") != "" {
		was = f.Attr("mode")
	}
	firewalled := func(mode string) bool { return mode == NAT || mode == Route }
	switch {
	case f == nil || was == n.Mode:
	case firewalled(was) && firewalled(n.Mode):
		f.RemoveNamed("nat") // the devices to forward to stay
	default:
		// Interfaces, ports and addresses of one mode mean nothing in another.
		root.RemoveNamed("forward")
	}
	if n.Mode == Isolated {
		root.RemoveNamed("forward")
		return
	}
	fresh := f == nil || was != n.Mode
	if f = root.Ensure("forward"); fresh && n.Mode == NAT {
		// libvirt's own default, which it writes into the running definition only: with it, the two are equal.
		f.Ensure("nat").Append(xmltree.New("port", "start", "1024", "end", "65535"))
	}
	f.Set("mode", n.Mode)
	nat := f.Child("nat")
	switch {
	case n.NAT6:
		f.Ensure("nat").Set("ipv6", "yes")
	case nat != nil:
		nat.Set("ipv6", "")
		f.Remove(func(e *xmltree.Element) bool { return e == nat && nat.Empty() })
	}
}

func (n Definition) renderDNS(root *xmltree.Element) {
	d := root.Ensure("dns")
	d.Set("enable", map[bool]string{true: "no"}[n.DNS.Disabled])
	if want := n.DNS.Forwarders; !slices.Equal(n.canonical().DNS.Forwarders, n.parsed(root).DNS.Forwarders) {
		d.RemoveNamed("forwarder")
		for _, f := range want {
			d.Append(xmltree.New("forwarder", "domain", f.Domain, "addr", text(f.Address)))
		}
	}
	d.RemoveNamed("host")
	for _, address := range slices.SortedFunc(maps.Keys(n.DNS.Hosts), netip.Addr.Compare) {
		d.Append(dnsHost(address, n.DNS.Hosts[address]))
	}
	root.Remove(func(e *xmltree.Element) bool { return e == d && d.Empty() })
}

// parsed is what the tree says now, for deciding whether a list has to be written anew.
func (Definition) parsed(root *xmltree.Element, known ...netip.Prefix) Definition {
	was, err := Parse(root.String(), known...)
	if err != nil {
		return Definition{} // a value that cannot be read is written anew
	}
	return was.canonical()
}

func dnsHost(address netip.Addr, names []string) *xmltree.Element {
	h := xmltree.New("host", "ip", address.String())
	for _, name := range names {
		e := xmltree.New("hostname")
		e.SetText(name)
		h.Append(e)
	}
	return h
}

// renderSubnet writes one family's <ip>; an invalid prefix takes away all of the family, for any that stayed would be
// read as the network's.
func (n Definition) renderSubnet(root *xmltree.Element, six bool, subnet netip.Prefix, gateway netip.Addr, known []netip.Prefix, lease *int64) {
	if !subnet.IsValid() {
		root.Remove(func(e *xmltree.Element) bool { return e.Name == "ip" && isIPv6(e) == six })
		return
	}
	ip := (&parser{root: root}).modelled(six, known)
	if ip == nil {
		ip = xmltree.New("ip")
		root.Append(ip)
	}
	if six {
		ip.Set("family", "ipv6")
	}
	ip.Set("address", gateway.String())
	ip.Set("netmask", "")
	ip.Set("prefix", strconv.Itoa(subnet.Bits()))
	if !six {
		only(ip, "tftp", n.PXE.TFTPRoot != "", "root", n.PXE.TFTPRoot)
	}
	n.renderDHCP(ip, six, lease)
}

// renderDHCP writes what a subnet gives out; the lease time is the one that the network had.
func (n Definition) renderDHCP(ip *xmltree.Element, six bool, lease *int64) {
	d := ip.Ensure("dhcp")
	ranges := slices.DeleteFunc(slices.Clone(n.DHCP.ranges()), func(r Range) bool { return r.Start.Is6() != six })
	hosts := d.Children("host")
	bootp := d.Child("bootp")
	d.Remove(func(e *xmltree.Element) bool { return e.Name == "range" || e.Name == "host" || e.Name == "bootp" })
	for _, r := range ranges {
		d.Append(rangeElement(r, n.DHCP.LeaseSeconds))
	}
	for p := (&parser{root: ip}); len(hosts) > 0; hosts = hosts[1:] {
		p.follow(hosts[0], lease, n.DHCP.lease(), len(ranges) > 0)
		d.Append(hosts[0]) // all else of a reservation is its owner's
	}
	if n.PXE.BootFile != "" && !six {
		if bootp == nil {
			bootp = xmltree.New("bootp")
		}
		bootp.Set("file", n.PXE.BootFile)
		bootp.Set("server", text(n.PXE.Server))
		d.Append(bootp)
	}
	ip.Remove(func(e *xmltree.Element) bool { return e == d && d.Empty() })
}

func (d *DHCP) ranges() []Range {
	if d == nil {
		return nil
	}
	return d.Ranges
}

// renderRoutes keeps the elements of routes that stay, for they may have a metric.
func (n Definition) renderRoutes(root *xmltree.Element) {
	p, missing := parser{root: root}, slices.Clone(n.Routes)
	root.Remove(func(e *xmltree.Element) bool {
		if e.Name != "route" {
			return false
		}
		at := slices.Index(missing, p.route(e))
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
		root.Append(xmltree.New("route", "family", family, "address", r.Destination.Addr().String(),
			"prefix", strconv.Itoa(r.Destination.Bits()), "gateway", r.Via.String()))
	}
}

func (n Definition) renderOptions(root *xmltree.Element) {
	var options map[string]string
	if n.DHCP != nil {
		options = n.DHCP.Options
	}
	block := dnsmasqBlock(root)
	if block == nil && len(options) == 0 {
		return
	}
	if block == nil {
		root.Set("xmlns:dnsmasq", dnsmasqNamespace)
		block = xmltree.New("dnsmasq:options")
		root.Append(block)
	}
	prefix, _, _ := strings.Cut(block.Name, ":")
	block.Remove(func(e *xmltree.Element) bool { _, _, ok := dhcpOption(e); return ok })
	for _, name := range slices.Sorted(maps.Keys(options)) {
		spelled := name
		if _, err := strconv.Atoi(name); err != nil && !strings.Contains(name, ":") {
			spelled = "option:" + name
		}
		block.Append(xmltree.New(prefix+":option", "value", fmt.Sprintf("dhcp-option=%s,%s", spelled, options[name])))
	}
	root.Remove(func(e *xmltree.Element) bool {
		return e == block && len(block.Children(prefix+":option")) == 0 && onlyNamespace(block)
	})
}

// onlyNamespace says whether an element has nothing but the declaration of its prefix.
func onlyNamespace(e *xmltree.Element) bool {
	for _, a := range e.Attrs {
		if !strings.HasPrefix(a.Name, "xmlns:") {
			return false
		}
	}
	for range e.All() {
		return false
	}
	return true
}

func text(a netip.Addr) string {
	if !a.IsValid() {
		return ""
	}
	return a.String()
}
