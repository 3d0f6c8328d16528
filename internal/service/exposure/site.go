package exposure

import (
	"context"
	"fmt"
	"net/netip"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/hostnet"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// Locate completes an exposure with what follows from the machine's network: the device that its address is on, and the subnet
// that its targets are in. It refuses what the machine could not lead anywhere, and an address that somebody else on the
// wire answers for.
func Locate(ctx context.Context, h host.Host, tree transaction.Tree, want Exposure) (Exposure, error) {
	m, err := hostnet.Look(ctx, h)
	if err != nil {
		return want, err
	}
	if want.Interface == "" && want.Address.IsValid() {
		want.Interface = deviceOf(m, want.Address)
	}
	if needs := want.ConfigureAddress || want.Kind == Floating; needs && want.Interface == "" {
		return want, service.At([]any{"interface"}, fmt.Errorf("no device of %s has a subnet with %s in it: name the interface", h, want.Address))
	}
	if _, there := m.Link(want.Interface); want.Interface != "" && !there {
		return want, service.At([]any{"interface"}, fmt.Errorf("%s has no device %s: it has %v", h, want.Interface, m.Names()))
	}
	want.Inside = netip.Prefix{}
	for i, target := range want.Targets {
		route, direct := routeTo(m, target)
		if !route.IsValid() && want.Kind != LoadBalancer {
			return want, service.At(want.targetAt(i), fmt.Errorf("%s is outside every network that %s has, so what it answers would not come back this way: name a guest behind the machine, or make its network first", target, h))
		}
		if direct && i == 0 {
			want.Inside = route
		}
	}
	if want.ConfigureAddress && !addressesOf(tree)[want.Address] {
		own := netip.PrefixFrom(want.Address, want.Address.BitLen())
		if err := m.CheckOccupied(ctx, h, want.Interface, []netip.Prefix{own}); err != nil {
			return want, service.At([]any{"address"}, err)
		}
	}
	return want, nil
}

// deviceOf is the device with a subnet that has an address in it, "" for none.
func deviceOf(m hostnet.Machine, a netip.Addr) string {
	best, device := -1, ""
	for _, link := range m.Links {
		for _, p := range m.Prefixes(link.Name) {
			if p.Contains(a) && p.Bits() > best {
				best, device = p.Bits(), link.Name
			}
		}
	}
	return device
}

// routeTo is the narrowest subnet that the machine has a route to and that has an address in it, but for the default route;
// direct says that the machine is in it itself.
func routeTo(m hostnet.Machine, a netip.Addr) (subnet netip.Prefix, direct bool) {
	for _, r := range m.Routes {
		p, err := netip.ParsePrefix(r.Dst)
		if err != nil {
			single, err := netip.ParseAddr(r.Dst)
			if err != nil {
				continue // "default"
			}
			p = netip.PrefixFrom(single, single.BitLen())
		}
		if p.Bits() > 0 && p.Contains(a) && (!subnet.IsValid() || p.Bits() > subnet.Bits()) {
			subnet, direct = p, r.Gateway == ""
		}
	}
	return subnet, direct
}
