package network

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
)

// twoSubnets is a network made by hand, whose second IPv4 subnet has the DHCP.
const twoSubnets = `<network><name>n</name><bridge name='br0'/>
<ip address='10.110.0.1' prefix='24'><tftp root='/srv/one'/></ip>
<ip family='ipv6' address='fd00::1' prefix='64'/>
<ip address='10.111.0.1' prefix='24'><dhcp><range start='10.111.0.10' end='10.111.0.20'/><host mac='52:54:00:00:00:01' ip='10.111.0.5'/></dhcp></ip></network>`

func TestOfTwoSubnetsTheOneThatIsReadIsWritten(t *testing.T) {
	read, err := Parse(twoSubnets)
	if err != nil || read.Subnet != cidr("10.111.0.0/24") || read.PXE.TFTPRoot != "" || read.DHCP == nil {
		t.Fatalf("%+v, %v", read, err)
	}
	want := read
	want.DHCP = &DHCP{Ranges: []Range{span("10.111.0.10", "10.111.0.30")}}
	edits, err := ListEdits(twoSubnets, nil, read, want)
	if err != nil || len(edits) != 2 || edits[0].Command != hypervisor.EditDelete || edits[1].Command != hypervisor.EditAdd || edits[0].Parent != 2 || edits[1].Parent != 2 {
		t.Errorf("%+v, %v", edits, err)
	}
	want.Subnet, want.Gateway, want.MTU = cidr("10.111.0.0/23"), ip("10.111.0.254"), 1400
	xml, err := want.Render(twoSubnets, read.Subnet)
	if err != nil {
		t.Fatal(err)
	}
	for _, kept := range []string{`<ip address="10.110.0.1" prefix="24">`, `<tftp root="/srv/one"/>`, `<host mac="52:54:00:00:00:01"`, `<ip address="10.111.0.254" prefix="23">`} {
		t.Run(kept, func(t *testing.T) {
			t.Parallel()
			if !strings.Contains(strings.ReplaceAll(xml, "'", `"`), kept) {
				t.Errorf("%s is not in\n%s", kept, xml)
			}
		})
	}
	if got, err := Parse(xml); err != nil || !Equal(got, want) {
		t.Errorf("read again: %+v, %v", got, err)
	}
}

func TestAKnownSubnetStaysTheOneWithoutItsDHCP(t *testing.T) {
	read, err := Parse(twoSubnets)
	if err != nil {
		t.Fatal(err)
	}
	want := read
	want.DHCP = nil
	edits, err := ListEdits(strings.Replace(twoSubnets, "<host mac='52:54:00:00:00:01' ip='10.111.0.5'/>", "", 1), nil, read, want)
	if err != nil || len(edits) != 1 || edits[0].Parent != 2 {
		t.Errorf("%+v, %v", edits, err)
	}
	without := strings.Replace(twoSubnets, "<range start='10.111.0.10' end='10.111.0.20'/><host mac='52:54:00:00:00:01' ip='10.111.0.5'/>", "", 1)
	without = strings.Replace(without, "<dhcp></dhcp>", "", 1)
	for _, known := range []netip.Prefix{cidr("10.111.0.0/24"), cidr("10.110.0.0/24")} {
		t.Run(fmt.Sprint(known), func(t *testing.T) {
			t.Parallel()
			if got, err := Parse(without, known); err != nil || got.Subnet != known {
				t.Errorf("known %s: %+v, %v", known, got, err)
			}
		})
	}
	want.Subnet, want.Gateway = cidr("10.112.0.0/24"), ip("10.112.0.1")
	xml, err := want.Render(without, read.Subnet)
	if err != nil || !strings.Contains(xml, "10.110.0.1") || strings.Contains(xml, "10.111.0.1") {
		t.Errorf("%v\n%s", err, xml)
	}
}

func TestWithoutASubnetNoneOfTheFamilyStays(t *testing.T) {
	want, err := Parse(twoSubnets)
	if err != nil {
		t.Fatal(err)
	}
	want.Subnet, want.Gateway, want.DHCP = netip.Prefix{}, netip.Addr{}, nil
	xml, err := want.Render(twoSubnets)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := Parse(xml); err != nil || !Equal(got, want) {
		t.Errorf("%+v, %v\n%s", got, err, xml)
	}
}
