package network

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/beevik/etree"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/metadata"
)

// Parse reads what of a network's XML is modelled. One subnet of each family is: the known one, where the network
// has it, or else the one with DHCP, or else the first.
func Parse(text string, known ...netip.Prefix) (Definition, error) {
	root, err := parseXML(text)
	if err != nil {
		return Definition{}, err
	}
	p := parser{root: root}
	n := Definition{Name: readText(root.SelectElement("name")), Mode: Isolated}
	if f := root.SelectElement("forward"); f != nil {
		n.Mode = NAT // libvirt's default where the element has no mode
		if mode := readAttribute(f, "mode"); mode != "" {
			n.Mode = mode
		}
		if nat := f.SelectElement("nat"); nat != nil {
			n.NAT6 = readAttribute(nat, "ipv6") == "yes"
		}
	}
	n.Bridge = readAttribute(root.SelectElement("bridge"), "name")
	n.VirtualPort = readAttribute(root.SelectElement("virtualport"), "type")
	n.Domain = readAttribute(root.SelectElement("domain"), "name")
	n.MTU = p.parseNumber(readAttribute(root.SelectElement("mtu"), "size"))
	p.readSubnets(&n, known)
	n.DNS = p.readDNS()
	for _, r := range root.SelectElements("route") {
		n.Routes = append(n.Routes, p.readRoute(r))
	}
	if p.err != nil {
		return Definition{}, fmt.Errorf("parse the XML of network %q: %w", n.Name, p.err)
	}
	return n.fillDefaults(), nil
}

// parser keeps the first thing that it could not read.
type parser struct {
	root *etree.Element
	err  error
}

// isIPv6 says which family an <ip> element is of.
func isIPv6(ip *etree.Element) bool {
	return readAttribute(ip, "family") == "ipv6" || strings.Contains(readAttribute(ip, "address"), ":")
}

// findModelled returns the <ip> element of a family that is read and written; nil where the network has none.
func (p *parser) findModelled(six bool, known []netip.Prefix) *etree.Element {
	var first, dhcp *etree.Element
	for _, ip := range p.root.SelectElements("ip") {
		if isIPv6(ip) != six {
			continue
		}
		subnet := p.readPrefix(ip).Masked()
		if slices.ContainsFunc(known, func(k netip.Prefix) bool { return k.IsValid() && k.Masked() == subnet }) {
			return ip
		}
		if first == nil {
			first = ip
		}
		if dhcp == nil && ip.SelectElement("dhcp") != nil {
			dhcp = ip
		}
	}
	return cmp.Or(dhcp, first)
}

func (p *parser) readSubnets(n *Definition, known []netip.Prefix) {
	four, six := p.findModelled(false, known), p.findModelled(true, known)
	options := p.readOptions()
	dhcp := DHCP{Options: options}
	given := len(options) > 0
	if note := findMetadata(p.root, metadata.DHCP); note != nil {
		given = true
		if expiry := readAttribute(note, "expiry"); expiry != "" {
			seconds := p.parseNumber(expiry)
			dhcp.LeaseSeconds = &seconds
		}
	}
	marks := readHostMarks(p.root)
	for _, h := range listReservations(p.root) {
		if !marks[h.Key()].Listed || h.MAC == "" {
			continue
		}
		if given = true; dhcp.Hosts == nil {
			dhcp.Hosts = map[string]Host{}
		}
		dhcp.Hosts[h.MAC] = Host{h.IP, h.Name}
	}
	for _, ip := range p.root.SelectElements("ip") {
		if ip != four && ip != six {
			continue
		}
		prefix := p.readPrefix(ip)
		if ip == six {
			n.Subnet6, n.Gateway6 = prefix.Masked(), prefix.Addr()
		} else {
			n.Subnet, n.Gateway = prefix.Masked(), prefix.Addr()
			n.PXE.TFTPRoot = readAttribute(ip.SelectElement("tftp"), "root")
		}
		d := ip.SelectElement("dhcp")
		if d == nil {
			continue
		}
		if b := d.SelectElement("bootp"); b != nil {
			n.PXE.BootFile, n.PXE.Server = readAttribute(b, "file"), p.parseAddress(readAttribute(b, "server"))
		}
		for _, r := range d.SelectElements("range") {
			given = true
			dhcp.Ranges = append(dhcp.Ranges, Range{p.parseAddress(readAttribute(r, "start")), p.parseAddress(readAttribute(r, "end"))})
			if l := p.readLease(r); l != nil {
				dhcp.LeaseSeconds = l
			}
		}
	}
	if given {
		n.DHCP = &dhcp
	}
}

func (p *parser) readRoute(e *etree.Element) StaticRoute {
	return StaticRoute{Destination: p.readPrefix(e).Masked(), Via: p.parseAddress(readAttribute(e, "gateway"))}
}

// secondsOfUnit returns the seconds in libvirt's unit of a lease; its default is minutes.
func secondsOfUnit(name string) int64 {
	switch name {
	case "seconds":
		return 1
	case "hours":
		return 3600
	}
	return 60
}

func (p *parser) readDNS() DNS {
	e := p.root.SelectElement("dns")
	d := DNS{LocalOnly: readAttribute(p.root.SelectElement("domain"), "localOnly") == "yes"}
	if e == nil {
		return d
	}
	d.Disabled = readAttribute(e, "enable") == "no"
	for _, f := range e.SelectElements("forwarder") {
		d.Forwarders = append(d.Forwarders, Forwarder{readAttribute(f, "domain"), p.parseAddress(readAttribute(f, "addr"))})
	}
	for _, h := range e.SelectElements("host") {
		if d.Hosts == nil {
			d.Hosts = map[netip.Addr][]string{}
		}
		address := p.parseAddress(readAttribute(h, "ip"))
		if len(d.Hosts[address]) > 0 {
			d.Repeated = append(d.Repeated, address)
		}
		for _, name := range h.SelectElements("hostname") {
			d.Hosts[address] = append(d.Hosts[address], readText(name))
		}
	}
	return d
}

// readOptions returns those of dnsmasq's options that set a DHCP option; the others are not modelled.
func (p *parser) readOptions() map[string]string {
	var options map[string]string
	for name, value := range listDNSMasqOptions(p.root) {
		if options == nil {
			options = map[string]string{}
		}
		options[name] = value
	}
	return options
}

// listDNSMasqOptions yields the DHCP options among dnsmasq's options.
func listDNSMasqOptions(root *etree.Element) func(yield func(name, value string) bool) {
	return func(yield func(name, value string) bool) {
		block := findDNSMasqBlock(root)
		if block == nil {
			return
		}
		for _, e := range block.ChildElements() {
			if name, value, ok := parseDHCPOption(e); ok && !yield(name, value) {
				return
			}
		}
	}
}

// findDNSMasqBlock finds <dnsmasq:options> under whatever prefix the document has for the namespace.
func findDNSMasqBlock(root *etree.Element) *etree.Element {
	for _, e := range root.ChildElements() {
		if prefix, local, _ := strings.Cut(e.FullTag(), ":"); local == "options" && (readAttribute(root, "xmlns:"+prefix) == dnsmasqNamespace || readAttribute(e, "xmlns:"+prefix) == dnsmasqNamespace) {
			return e
		}
	}
	return nil
}

// parseDHCPOption reads `dhcp-option=option:ntp-server,10.0.0.1`, and the same with a number. One that is for some machines
// only (tag:efi, vendor:PXEClient), or without a value, is not modelled.
func parseDHCPOption(e *etree.Element) (name, value string, ok bool) {
	text, ok := strings.CutPrefix(readAttribute(e, "value"), "dhcp-option=")
	if !ok {
		return "", "", false
	}
	name, value, _ = strings.Cut(text, ",")
	name = strings.TrimPrefix(name, "option:")
	return name, value, optionName.MatchString(name) && value != ""
}

// readPrefix reads an address with its prefix length or netmask.
func (p *parser) readPrefix(e *etree.Element) netip.Prefix {
	address := p.parseAddress(readAttribute(e, "address"))
	if bits := readAttribute(e, "prefix"); bits != "" {
		return netip.PrefixFrom(address, int(p.parseNumber(bits)))
	}
	return hypervisor.PrefixOfMask(address, p.parseAddress(readAttribute(e, "netmask")))
}

func (p *parser) parseAddress(text string) netip.Addr {
	if text == "" {
		return netip.Addr{}
	}
	a, err := netip.ParseAddr(text)
	if err != nil && p.err == nil {
		p.err = err
	}
	return a
}

func (p *parser) parseNumber(text string) int64 {
	if text == "" {
		return 0
	}
	var n int64
	if _, err := fmt.Sscan(text, &n); err != nil && p.err == nil {
		p.err = fmt.Errorf("%q is not a number: %w", text, err)
	}
	return n
}
