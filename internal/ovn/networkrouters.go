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

// putRouters has the routers of the same state that connect a network follow other addresses of it, and another mode, with what they translate. Those of others
// stay: their plans show that they do not lead to the network as it is. It is an error where one of them leads to such addresses already.
func (t networkThing) putRouters(ctx context.Context, n *Northbound, r networkRows, want Network, mark string) (operations []ovsdb.Operation, err error) {
	wanted := &Switch{OtherConfig: want.otherConfig(), ExternalIDs: want.formatNotes()}
	is, addresses := routerAddresses(r.network), routerAddresses(wanted)
	stays := slices.Equal(is, addresses) && maps.Equal(formatAdvertisement(r.network), formatAdvertisement(wanted)) && modeOf(r.network) == modeOf(wanted)
	if stays || len(is) == 0 || len(addresses) == 0 {
		return nil, nil
	}
	for _, peer := range r.others {
		thing := routerThing{peer.ExternalIDs[routerKey], peer.ExternalIDs[markKey]}
		if peer.Type != "router" || thing.name == "" || !isOfSameState(owner.Parse(peer.ExternalIDs[markKey]), owner.Parse(mark)) {
			continue
		}
		rows, err := thing.findRows(ctx, n)
		if err != nil {
			return nil, err
		}
		if rows.router == nil {
			continue // a person removed it, and its port to the network stayed
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
		translation, err := thing.putTranslation(rows, r.network, wanted)
		if err != nil {
			return nil, err
		}
		operations = append(operations, translation...)
	}
	return operations, nil
}

// putTranslation has a router that translates guests of a network do so for it as it is to be, if it is to be translated at all. The transaction is refused
// where the router translates otherwise than what was planned by.
func (t routerThing) putTranslation(r routerRows, was, wanted *Switch) ([]ovsdb.Operation, error) {
	router := t.readRouter(r)
	from, to := gatewayOf(was), gatewayOf(wanted)
	if router.External == nil || !from.IsValid() || !to.IsValid() {
		return nil, nil
	}
	outside := router.External.Address.Addr().String()
	has, wants := map[string]child{}, map[string]child{}
	for _, x := range r.nat {
		if x.Type == "snat" && x.Logical == from.Masked().String() && x.External == outside {
			has["snat"] = child{row: &x}
		}
	}
	if isTranslated(wanted) && (len(has) > 0 || !isTranslated(was) && router.SNAT) {
		if slices.ContainsFunc(r.foreignNAT, func(x NAT) bool {
			return x.Type == "snat" && x.Logical == to.Masked().String() && x.External == outside
		}) {
			return nil, fmt.Errorf("somebody has router %q translate %s already: take that off it first by `ovn-nbctl lr-nat-del`", t.name, to.Masked())
		}
		wants["snat"] = child{columns: map[string]any{"type": "snat", "external_ip": outside, "logical_ip": to.Masked().String(), externalIDs: t.childIDs()}}
	}
	guard := whileSame(NorthDB, r.router, r.router.UUID, "nat", references(r.router.NAT...))
	return append([]ovsdb.Operation{guard}, putChildren(&NAT{}, &RouterRow{}, r.router.UUID, "nat", has, wants)...), nil
}

// CheckIsolation finds a router of another state that leads out of a network that is to be isolated, and was not. One of this state says so itself, and whether
// a person's is in the plan, as one that is imported, nobody knows: of that one, the apply does. So it does where the database does not answer.
func CheckIsolation(ctx context.Context, n *Northbound, want, was Network) error {
	if want.Mode != Isolated || was.Mode == Isolated {
		return nil
	}
	t := networkThing{want.Name}
	r, err := t.findRows(ctx, n)
	if err != nil || r.network == nil {
		return nil //nolint:nilerr // as said above
	}
	return t.findLeader(ctx, n, r, func(m owner.Mark) bool { return m.ID != "" && !m.IsHere() })
}

// findLeader returns an error at a router that leads out of the network, and whose owner is meant.
func (t networkThing) findLeader(ctx context.Context, n *Northbound, r networkRows, meant func(owner.Mark) bool) error {
	routers, err := Rows(ctx, n.North, func(row *RouterRow) bool { return meant(owner.Parse(row.ExternalIDs[markKey])) })
	if err != nil {
		return err
	}
	ports, err := Rows(ctx, n.North, func(p *RouterPort) bool {
		return slices.ContainsFunc(r.others, func(peer Port) bool { return peer.Type == "router" && peer.Options["router-port"] == p.Name })
	})
	if err != nil {
		return err
	}
	for _, p := range ports {
		if at := slices.IndexFunc(routers, func(row RouterRow) bool { return slices.Contains(row.Ports, p.UUID) }); at >= 0 {
			return service.At([]any{"mode"}, fmt.Errorf("router %q leads out of network %q, and an isolated one has no router: take the network off it first", routers[at].Name, t.name))
		}
	}
	return nil
}
