package network

import (
	"strings"
	"testing"
)

func TestWhatIsNotModelledStaysWhereItMeansTheSame(t *testing.T) {
	const routed = `<network><name>n</name><forward dev='eth0'><nat><port start='2048' end='4096'/></nat><interface dev='eth0'/></forward><ip address='10.0.0.1' prefix='24'/>
<route address='10.1.0.0' netmask='255.255.0.0' gateway='10.0.0.2' metric='7'/><route address='10.2.0.0' prefix='16' gateway='10.0.0.2'/></network>`
	n, err := Parse(routed)
	if err != nil {
		t.Fatal(err)
	}
	n.Routes = append(n.Routes[:1:1], StaticRoute{cidr("10.3.0.0/16"), ip("10.0.0.3")})
	for _, c := range []struct {
		mode        string
		there, gone []string
	}{
		{NAT, []string{`metric="7"`, "10.3.0.0", `<forward dev="eth0" mode="nat">`, "2048"}, []string{"10.2.0.0"}},
		{Route, []string{`metric="7"`, `<forward dev="eth0" mode="route">`, `<interface dev="eth0"/>`}, []string{"<nat", "10.2.0.0"}},
		{Open, []string{`metric="7"`, `<forward mode="open"/>`}, []string{"<nat", "eth0"}},
		{Isolated, []string{`metric="7"`}, []string{"<forward"}},
	} {
		t.Run(c.mode, func(t *testing.T) {
			n.Mode = c.mode
			xml, err := n.Render(routed)
			if err != nil {
				t.Fatal(err)
			}
			for _, w := range c.there {
				if !strings.Contains(xml, w) {
					t.Errorf("%s: %s is not in\n%s", c.mode, w, xml)
				}
			}
			for _, w := range c.gone {
				if strings.Contains(xml, w) {
					t.Errorf("%s: %s is in\n%s", c.mode, w, xml)
				}
			}
			if got, err := Parse(xml); err != nil || !Equal(got, n) {
				t.Errorf("%s is read back as %+v, %v", c.mode, got, err)
			}
		})
	}
	n.Mode = NAT
	if xml, err := n.Render(strings.Replace(routed, "dev='eth0'", "mode='route' dev='eth0'", 1)); err != nil || !strings.Contains(xml, `<port start="1024" end="65535"/>`) || !strings.Contains(xml, `<interface dev="eth0"/>`) {
		t.Errorf("%v in\n%s", err, xml)
	}
}

func TestDHCPOptionsForSomeMachinesStay(t *testing.T) {
	const optioned = `<network xmlns:dnsmasq='http://libvirt.org/schemas/network/dnsmasq/1.0'><name>n</name><ip address='10.0.0.1' prefix='24'/><dnsmasq:options>
<dnsmasq:option value='dhcp-option=tag:efi,42,10.0.0.3'/><dnsmasq:option value='dhcp-option=vendor:PXEClient,1,0.0.0.0'/><dnsmasq:option value='dhcp-option=3'/>
<dnsmasq:option value='dhcp-option=option:dns-server,10.0.0.7,10.0.0.8'/><dnsmasq:option value='dhcp-option=option6:dns-server,[fd00::1]'/></dnsmasq:options></network>`
	n, err := Parse(optioned)
	if err != nil || len(n.DHCP.Options) != 2 || n.DHCP.Options["dns-server"] != "10.0.0.7,10.0.0.8" || n.DHCP.Options["option6:dns-server"] != "[fd00::1]" {
		t.Fatalf("%+v, %v", n.DHCP, err)
	}
	n.DHCP = nil
	xml, err := n.Render(optioned)
	if err != nil || strings.Contains(xml, "dns-server") {
		t.Errorf("%v in\n%s", err, xml)
	}
	for _, kept := range []string{"dhcp-option=tag:efi,42,10.0.0.3", "dhcp-option=vendor:PXEClient,1,0.0.0.0", "dhcp-option=3"} {
		t.Run(kept, func(t *testing.T) {
			t.Parallel()
			if !strings.Contains(xml, kept) {
				t.Errorf("%s is lost in\n%s", kept, xml)
			}
		})
	}
	if got, err := Parse(xml); err != nil || got.DHCP != nil {
		t.Errorf("%+v, %v", got.DHCP, err)
	}
}
