package ovn

import (
	"context"
	"maps"
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

// parseNetworks returns the addresses of a router's port, as far as they are such.
func (p *RouterPort) parseNetworks() (all []netip.Prefix) {
	for _, text := range p.Networks {
		if address, err := netip.ParsePrefix(text); err == nil {
			all = append(all, address)
		}
	}
	return all
}

// maskAll returns the networks that addresses are in.
func maskAll(addresses []netip.Prefix) (all []netip.Prefix) {
	for _, a := range addresses {
		all = append(all, a.Masked())
	}
	return all
}

// putRouters has the routers that connect a network follow other addresses of it, with what they translate. Those that a person made
// stay. It is an error where one of them leads to such addresses already.
func (t networkThing) putRouters(ctx context.Context, n *Northbound, r networkRows, want Network) (operations []ovsdb.Operation, err error) {
	wanted := &Switch{OtherConfig: want.otherConfig(), ExternalIDs: map[string]string{gatewayKey: textOf(want.Gateway), mtuKey: numberOf(want.MTU)}}
	is, addresses := routerAddresses(r.network), routerAddresses(wanted)
	if len(is) == 0 || len(addresses) == 0 || slices.Equal(is, addresses) && maps.Equal(advertisement(r.network), advertisement(wanted)) {
		return nil, nil
	}
	was, now := gatewayOf(r.network), gatewayOf(wanted)
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
		networks := map[string][]netip.Prefix{t.name: maskAll(addresses)}
		var outside netip.Prefix
		for _, p := range ports {
			if p.Name == (routerThing{router.Name}).outsideName() && len(p.Networks) > 0 {
				outside, _ = netip.ParsePrefix(p.Networks[0])
			}
			if p.Name == peer.Options["router-port"] {
				operations = append(operations, update(NorthDB, &p, p.UUID, map[string]any{"networks": texts(textsOf(addresses)...), "ipv6_ra_configs": pairs(advertisement(wanted))}))
			} else {
				networks[p.Name] = maskAll(p.parseNetworks())
			}
		}
		if err := findOverlap(networks); err != nil {
			return nil, service.At([]any{"cidr"}, err)
		}
		if !was.IsValid() || !now.IsValid() {
			continue
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
