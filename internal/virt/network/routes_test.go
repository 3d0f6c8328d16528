package network

import (
	"fmt"
	"net/netip"
	"testing"

	"libvirt.org/go/libvirtxml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
)

func TestARouteIsLostOnlyWhereItsNetworkIsSeen(t *testing.T) {
	var n libvirtxml.Network
	if err := n.Unmarshal(`<network><name>n</name><bridge name='br0'/><ip address='10.91.0.254' prefix='24'/><ip family='ipv6' address='fd00:91::1' prefix='64'/></network>`); err != nil {
		t.Fatal(err)
	}
	route := func(destination, via string) StaticRoute {
		return StaticRoute{Destination: netip.MustParsePrefix(destination), Via: netip.MustParseAddr(via)}
	}
	routes := []StaticRoute{route("10.128.0.0/14", "10.91.0.1"), route("0.0.0.0/0", "10.91.0.2"), route("fd00:128::/48", "fd00:91::9")}
	direct := func(destination, device string) hypervisor.HostRoute {
		return hypervisor.HostRoute{Destination: netip.MustParsePrefix(destination), Device: device}
	}
	four, six := direct("10.91.0.0/24", "br0"), direct("fd00:91::/64", "br0")
	have := func(r StaticRoute, device string) hypervisor.HostRoute {
		return hypervisor.HostRoute{Destination: r.Destination, Device: device, Via: r.Via}
	}
	all := []hypervisor.HostRoute{four, six, have(routes[0], "br0"), have(routes[1], "br0"), have(routes[2], "br0")}
	for name, c := range map[string]struct {
		there []hypervisor.HostRoute
		lost  []StaticRoute
	}{
		"all there":               {all, nil},
		"all gone":                {all[:2], routes},
		"no access":               {nil, nil},
		"another machine's":       {[]hypervisor.HostRoute{direct("10.0.0.0/24", "eth0"), direct("10.91.0.0/24", "br1")}, nil},
		"one family seen":         {[]hypervisor.HostRoute{four}, routes[:2]},
		"by another device":       {append([]hypervisor.HostRoute{have(routes[0], "eth0")}, all[0], all[1], all[3], all[4]), routes[:1]},
		"by another machine":      {append([]hypervisor.HostRoute{have(route("10.128.0.0/14", "10.91.0.7"), "br0")}, all[0], all[1], all[3], all[4]), routes[:1]},
		"a default route is lost": {append([]hypervisor.HostRoute{direct("0.0.0.0/0", "eth0")}, all[0], all[1], all[2], all[4]), routes[1:2]},
	} {
		t.Run(name, func(t *testing.T) {
			if got := listMissingRoutes(routes, &n, c.there); fmt.Sprint(got) != fmt.Sprint(c.lost) {
				t.Errorf("%s: %v instead of %v", name, got, c.lost)
			}
		})
	}
}

func TestDefaultRoutesAndWhatNoNetworkCanHaveAreInNobodysWay(t *testing.T) {
	for destination, out := range map[string]bool{
		"0.0.0.0/0": true, "0.0.0.0/1": true, "128.0.0.0/1": true, "::/0": true, "8000::/1": true, "2000::/3": true, "224.0.0.0/4": true, "ff00::/8": true, "fe80::/64": true,
		"10.0.0.0/8": false, "64.0.0.0/2": false, "10.0.0.7/32": false, "fd00::/8": false, "2001:db8::/32": false,
	} {
		t.Run(destination, func(t *testing.T) {
			t.Parallel()
			if r := (hypervisor.HostRoute{Destination: netip.MustParsePrefix(destination)}); (isDefaultRoute(r) || isForNoNetwork(r)) != out {
				t.Errorf("%s is left out: %t", destination, !out)
			}
		})
	}
}
