package ovn

import (
	"context"
	"net/netip"
	"slices"

	"github.com/ovn-kubernetes/libovsdb/ovsdb"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// gatewayOf is the address that a router has on a network, with the network's length.
func gatewayOf(s *Switch) netip.Prefix {
	cidr, _ := netip.ParsePrefix(s.OtherConfig["subnet"])
	gateway, _ := netip.ParseAddr(s.ExternalIDs[gatewayKey])
	return netip.PrefixFrom(gateway, cidr.Bits())
}

// putRouters has the routers that connect a network follow another gateway or cidr of it, with what they translate. Those that a person made
// stay. It is an error where one of them leads to such addresses already.
func (t networkThing) putRouters(ctx context.Context, n *Northbound, r networkRows, want Network) (operations []ovsdb.Operation, err error) {
	was, now := gatewayOf(r.network), netip.PrefixFrom(want.Gateway, want.CIDR.Bits())
	if was == now || !was.IsValid() || !now.IsValid() {
		return nil, nil
	}
	for _, peer := range r.others {
		if peer.Type != "router" || peer.ExternalIDs[routerKey] == "" {
			continue
		}
		router, err := Row(ctx, n.North, func(row *RouterRow) bool { return row.Name == peer.ExternalIDs[routerKey] })
		if err != nil || router == nil {
			return nil, err
		}
		ports, err := Rows(ctx, n.North, func(p *RouterPort) bool { return slices.Contains(router.Ports, p.UUID) })
		if err != nil {
			return nil, err
		}
		networks := map[string]netip.Prefix{t.name: now.Masked()}
		var outside netip.Prefix
		for _, p := range ports {
			if p.Name == (routerThing{router.Name}).outsideName() && len(p.Networks) > 0 {
				outside, _ = netip.ParsePrefix(p.Networks[0])
			}
			if p.Name == peer.Options["router-port"] {
				operations = append(operations, update(NorthDB, &p, p.UUID, map[string]any{"networks": texts(now.String())}))
			} else if len(p.Networks) > 0 {
				other, _ := netip.ParsePrefix(p.Networks[0])
				networks[p.Name] = other.Masked()
			}
		}
		if err := findOverlap(networks); err != nil {
			return nil, service.At([]any{"cidr"}, err)
		}
		nat, err := Rows(ctx, n.North, func(x *NAT) bool {
			return slices.Contains(router.NAT, x.UUID) && x.Type == "snat" && x.Logical == was.Masked().String() && x.External == outside.Addr().String()
		})
		if err != nil {
			return nil, err
		}
		for _, x := range nat {
			operations = append(operations, update(NorthDB, &x, x.UUID, map[string]any{"logical_ip": now.Masked().String()}))
		}
	}
	return operations, nil
}
