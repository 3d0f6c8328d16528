package ovn

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"

	"github.com/ovn-kubernetes/libovsdb/ovsdb"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
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

// isTranslated says whether a router that translates does so for guests of a network.
func isTranslated(s *Switch) bool {
	mode := modeOf(s)
	return mode != Routed && mode != Open && mode != Isolated
}

// putRouters has the routers that connect a network follow other addresses of it, and another mode, with what they translate. Those that a person
// made stay. It is an error where one of them leads to such addresses already.
func (t networkThing) putRouters(ctx context.Context, n *Northbound, r networkRows, want Network) (operations []ovsdb.Operation, err error) {
	wanted := &Switch{OtherConfig: want.otherConfig(), ExternalIDs: want.formatNotes()}
	is, addresses := routerAddresses(r.network), routerAddresses(wanted)
	stays := slices.Equal(is, addresses) && maps.Equal(formatAdvertisement(r.network), formatAdvertisement(wanted)) && isTranslated(r.network) == isTranslated(wanted)
	if len(is) == 0 || len(addresses) == 0 || stays {
		return nil, nil
	}
	for _, peer := range r.others {
		if peer.Type != "router" || peer.ExternalIDs[routerKey] == "" {
			continue
		}
		thing := routerThing{peer.ExternalIDs[routerKey]}
		rows, err := thing.findRows(ctx, n)
		if err != nil || rows.router == nil {
			return nil, err
		}
		networks := map[string][]netip.Prefix{t.name: maskAll(addresses)}
		for name, p := range rows.ports {
			if name == peer.Options["router-port"] {
				operations = append(operations, update(NorthDB, &p, p.UUID, map[string]any{"networks": texts(textsOf(addresses)...), "ipv6_ra_configs": pairs(formatAdvertisement(wanted))}))
			} else {
				networks[name] = maskAll(p.parseNetworks())
			}
		}
		if err := findOverlap(networks); err != nil {
			return nil, service.At([]any{"cidr"}, err)
		}
		operations = append(operations, thing.putTranslation(rows, r.network, wanted)...)
	}
	return operations, nil
}

// putTranslation has a router that translates guests of a network do so for it as it is to be, if it is to be translated at all.
func (t routerThing) putTranslation(r routerRows, was, wanted *Switch) []ovsdb.Operation {
	router := t.readRouter(r)
	from, to := gatewayOf(was), gatewayOf(wanted)
	if router.External == nil || !from.IsValid() || !to.IsValid() {
		return nil
	}
	outside := router.External.Address.Addr().String()
	has, wants := map[string]child{}, map[string]child{}
	for _, x := range r.nat {
		if isTranslated(was) && x.Type == "snat" && x.Logical == from.Masked().String() && x.External == outside {
			has["snat"] = child{row: &x}
		}
	}
	if isTranslated(wanted) && (len(has) > 0 || !isTranslated(was) && router.SNAT) {
		wants["snat"] = child{columns: map[string]any{"type": "snat", "external_ip": outside, "logical_ip": to.Masked().String()}}
	}
	return putChildren(&NAT{}, &RouterRow{}, r.router.UUID, "nat", has, wants)
}

// CheckIsolation finds a router that leads out of a network that is to be isolated, and that the plan leaves as it is. Where the database does not answer,
// the apply goes on: the plan of that router says so.
func CheckIsolation(ctx context.Context, n *Northbound, want Network, planned Planned) error {
	if want.Mode != Isolated {
		return nil
	}
	r, err := networkThing{want.Name}.findRows(ctx, n)
	if err != nil {
		return nil //nolint:nilerr // as said above
	}
	routers, err := Rows(ctx, n.North, func(row *RouterRow) bool { return planned.keepsMarked(owner.Parse(row.ExternalIDs[markKey])) })
	if err != nil {
		return nil //nolint:nilerr // as said above
	}
	ports, err := Rows(ctx, n.North, All[RouterPort])
	if err != nil {
		return nil //nolint:nilerr // as said above
	}
	for _, p := range ports {
		leads := slices.ContainsFunc(r.others, func(peer Port) bool { return peer.Type == "router" && peer.Options["router-port"] == p.Name })
		at := slices.IndexFunc(routers, func(row RouterRow) bool { return slices.Contains(row.Ports, p.UUID) })
		if !leads || at < 0 {
			continue
		}
		if _, changes := planned.Routers[routers[at].Name]; !changes {
			return service.At([]any{"mode"}, fmt.Errorf("router %q leads out of network %q, and an isolated one has no router: take the network off it first", routers[at].Name, want.Name))
		}
	}
	return nil
}
