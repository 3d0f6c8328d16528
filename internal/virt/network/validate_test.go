package network

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
)

func TestAGoodNetworkHasNoProblems(t *testing.T) {
	for name, n := range networks() {
		if found := n.Validate(); len(found) > 0 {
			t.Errorf("%s: %+v", name, found)
		}
	}
}

func TestBadNetworksAreRefusedAtTheAttributeWithARemedy(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Definition)
		path   string // as fmt prints the steps
		remedy string
	}{
		"slash in the name":        {func(n *Definition) { n.Name = "a/b" }, "[name]", "without slashes"},
		"host bits":                {func(n *Definition) { n.Subnet = netip.MustParsePrefix("10.0.0.7/24") }, "[cidr]", "write 10.0.0.0/24"},
		"IPv6 in cidr":             {func(n *Definition) { n.Subnet = n.Subnet6 }, "[cidr]", "IPv4"},
		"subnet of one":            {func(n *Definition) { n.Subnet = cidr("10.0.0.4/31") }, "[cidr]", "prefix length"},
		"gateway elsewhere":        {func(n *Definition) { n.Gateway = ip("10.1.0.1") }, "[gateway]", "in 10.0.0.0/24"},
		"gateway broadcast":        {func(n *Definition) { n.Gateway = ip("10.0.0.255") }, "[gateway]", "write another"},
		"gateway alone":            {func(n *Definition) { n.Subnet, n.DHCP, n.Routes, n.PXE = netip.Prefix{}, nil, nil, PXE{} }, "[gateway]", "write cidr too"},
		"range elsewhere":          {func(n *Definition) { n.DHCP.Ranges[0] = span("10.0.1.1", "10.0.1.9") }, "[dhcp ranges 0]", "not inside 10.0.0.0/24"},
		"range over the gateway":   {func(n *Definition) { n.DHCP.Ranges[0] = span("10.0.0.250", "10.0.0.254") }, "[dhcp ranges 0]", "10.0.0.254"},
		"range backwards":          {func(n *Definition) { n.DHCP.Ranges[0] = span("10.0.0.20", "10.0.0.10") }, "[dhcp ranges 0]", "before it starts"},
		"range of two families":    {func(n *Definition) { n.DHCP.Ranges[0] = Range{ip("10.0.0.20"), ip("fd00:10::2")} }, "[dhcp ranges 0]", "one address family"},
		"range with the broadcast": {func(n *Definition) { n.Gateway = ip("10.0.0.1"); n.DHCP.Ranges[0] = span("10.0.0.250", "10.0.0.255") }, "[dhcp ranges 0]", "broadcast"},
		"overlapping ranges":       {func(n *Definition) { n.DHCP.Ranges[1] = span("10.0.0.240", "10.0.0.250") }, "[dhcp ranges 1]", "overlaps range 0"},
		"wide IPv6 for DHCP":       {func(n *Definition) { n.Subnet6 = cidr("fd00:10::/56") }, "[dhcp ranges 1]", "/64"},
		"option name":              {func(n *Definition) { n.DHCP.Options["26,1\nx"] = "1" }, "[dhcp options 26,1\nx]", "number or name"},
		"open quotation mark":      {func(n *Definition) { n.DHCP.Options["42"] = `"a` }, "[dhcp options 42]", "does not close"},
		"comment in an option":     {func(n *Definition) { n.DHCP.Options["42"] = `"a #" #b` }, "[dhcp options 42]", "for a comment"},
		"comma in the boot file":   {func(n *Definition) { n.PXE.BootFile = "a,b" }, "[pxe boot_file]", "without commas"},
		"comment in the TFTP root": {func(n *Definition) { n.PXE.TFTPRoot = "/srv #1" }, "[pxe tftp_root]", "absolute path"},
		"local without a domain":   {func(n *Definition) { n.Domain = "" }, "[dns local_only]", "write domain too"},
		"empty forwarder":          {func(n *Definition) { n.DNS.Forwarders[0] = Forwarder{} }, "[dns forwarders 0]", "an address, a domain or both"},
		"records without DNS":      {func(n *Definition) { n.DNS.Disabled = true }, "[dns enabled]", "leave forwarders and hosts out"},
		"address without a name":   {func(n *Definition) { n.DNS.Hosts[ip("10.0.0.3")] = nil }, "[dns hosts 10.0.0.3]", "one or more names"},
		"route with host bits":     {func(n *Definition) { n.Routes[0].Destination = netip.MustParsePrefix("10.128.0.1/14") }, "[routes 0 cidr]", "write 10.128.0.0/14"},
		"route elsewhere":          {func(n *Definition) { n.Routes[0].Via = ip("10.1.0.1") }, "[routes 0 via]", "a machine on this network"},
		"route to itself":          {func(n *Definition) { n.Routes[0].Via = ip("10.0.0.254") }, "[routes 0 via]", "another machine"},
		"boot file without DHCP":   {func(n *Definition) { n.DHCP = nil }, "[pxe boot_file]", "dhcp.ranges"},
		"boot server alone":        {func(n *Definition) { n.PXE.BootFile = "" }, "[pxe server]", "boot_file too"},
		"relative TFTP root":       {func(n *Definition) { n.PXE.TFTPRoot = "srv" }, "[pxe tftp_root]", "absolute path"},
		"MTU too small for IPv6":   {func(n *Definition) { n.MTU = 1000 }, "[mtu]", "1280"},
		"NAT of IPv6 without nat":  {func(n *Definition) { n.Mode = Route }, "[ipv6_nat]", "mode \"nat\""},
		"virtual port":             {func(n *Definition) { n.VirtualPort = "openvswitch" }, "[virtual_port]", "mode \"bridge\""},
		"subnet in mode bridge":    {func(n *Definition) { n.Mode = Bridge }, "[cidr]", "leave cidr out"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := full()
			c.change(&n)
			said := false
			for _, p := range n.Validate() {
				said = said || fmt.Sprint(p.Path) == c.path && strings.Contains(p.Detail, c.remedy)
			}
			if !said {
				t.Errorf("%s: nothing at %s says %q: %+v", name, c.path, c.remedy, n.Validate())
			}
		})
	}
	if found := (Definition{Name: "n", Mode: NAT}).Validate(); len(found) != 1 || found[0].Summary != "Missing subnet" {
		t.Errorf("%+v", found)
	}
}

func TestValuesThatDNSMasqTakesAsTheyAreAreNotRefused(t *testing.T) {
	t.Parallel()
	n := full()
	n.DHCP.Options = map[string]string{"43": `"a, \"b\" #c",#1`, "15": "x#y"}
	n.PXE.TFTPRoot, n.PXE.BootFile = "/srv/tftp boot", "pxe#0"
	if found := n.Validate(); len(found) > 0 {
		t.Errorf("%+v", found)
	}
}
