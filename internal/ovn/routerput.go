package ovn

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"

	"github.com/ovn-kubernetes/libovsdb/ovsdb"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// listPorts returns the router's ports that are wanted. group is what the one to the outside refers to.
func (t routerThing) listPorts(r routerRows, want Router, group string) (map[string]child, error) {
	all, networks := map[string]child{}, map[string][]netip.Prefix{}
	add := func(name, network string, addresses []netip.Prefix) child {
		networks[network] = maskAll(addresses)
		c := child{columns: map[string]any{"name": name, "mac": r.chooseMAC(name, r.ports[name].MAC), "networks": texts(textsOf(addresses)...), "ha_chassis_group": references(), "ipv6_ra_configs": pairs(nil), externalIDs: t.childIDs()}}
		all[name] = c
		return c
	}
	for i, network := range want.Networks {
		addresses, err := r.findAddresses(network)
		if err == nil && slices.Contains(r.foreign, t.portTo(network)) {
			err = fmt.Errorf("somebody has given router %q a port %q: take it off it first by `ovn-nbctl lrp-del`", t.name, t.portTo(network))
		}
		if err != nil {
			return nil, service.At([]any{"networks", i}, err)
		}
		for _, address := range addresses {
			if at := slices.IndexFunc(r.neighbours[network], func(p RouterPort) bool { return slices.Contains(p.Networks, address.String()) }); at >= 0 {
				return nil, service.At([]any{"networks", i}, fmt.Errorf("port %q of another router has %s, the address of the gateway of network %q: one router leads out of a network by it", r.neighbours[network][at].Name, address.Addr(), network))
			}
		}
		s := r.networks[network]
		add(t.portTo(network), network, addresses).columns["ipv6_ra_configs"] = pairs(formatAdvertisement(&s))
	}
	if want.External != nil {
		if _, twice := all[t.outsideName()]; twice {
			return nil, service.At([]any{"external"}, fmt.Errorf("the router's port there is called %q, as that to network \"external\" is: take that one off networks, or have another router lead to it", t.outsideName()))
		}
		if _, taken := r.networks[t.outsideName()]; taken && !r.undecided[t.outsideName()] {
			return nil, service.At([]any{"external"}, fmt.Errorf("there is a network %q, and the router's part of the network of the chassis would be called so: call the router otherwise", t.outsideName()))
		}
		add(t.outsideName(), t.outsideName(), []netip.Prefix{want.External.Address}).columns["ha_chassis_group"] = references(group)
	}
	return all, service.At([]any{"networks"}, findOverlap(networks))
}

// listRoutes returns the router's static routes.
func (t routerThing) listRoutes(want Router) map[string]child {
	all := map[string]child{}
	add := func(prefix, via string) {
		all[routeKey(prefix, via)] = child{columns: map[string]any{"ip_prefix": prefix, "nexthop": via, externalIDs: t.childIDs()}}
	}
	for _, route := range want.Routes {
		add(route.CIDR.String(), route.Via.String())
	}
	if want.External != nil && want.External.Gateway.IsValid() {
		add(defaultRoute(want.External.Gateway).String(), want.External.Gateway.String())
	}
	return all
}

// routeKey tells routes apart.
func routeKey(prefix, via string) string { return prefix + " " + via }

// CheckRouter finds what keeps a router from connecting networks, as the plan has them or as they are there: no address for it, addresses in
// common, or no router at all. Networks that are in neither are left to its making, and so are those of this state that are not planned yet, or not
// wholly known, and other routers' ports, which may be gone by then. Where the database does not answer, what the plan has is compared alone.
func CheckRouter(ctx context.Context, n *Northbound, want Router, planned Planned) error {
	t := routerThing{name: want.Name}
	r, err := t.findRows(ctx, n)
	if err != nil {
		r = routerRows{networks: map[string]Switch{}, global: &Global{}}
	}
	return t.checkRows(r, want, planned)
}

// checkRows is CheckRouter by rows.
func (t routerThing) checkRows(r routerRows, want Router, planned Planned) error {
	r.overlayPlan(planned, append(slices.Clone(want.Networks), t.outsideName()))
	known := want
	known.Networks = slices.DeleteFunc(slices.Clone(want.Networks), func(name string) bool { _, there := r.networks[name]; return !there || r.undecided[name] })
	r.neighbours = nil
	_, err := t.listPorts(r, known, "")
	if err == nil {
		err = r.checkFailover(want, planned)
	}
	if err == nil {
		_, err = r.putFailover(want.Failover)
	}
	if err == nil {
		err = r.checkFloating(want)
	}
	if err == nil {
		err = t.checkForeign(r, want)
	}
	return err
}

// Put implements Thing.
func (t routerThing) Put(ctx context.Context, n *Northbound, want Router, mark string) ([]ovsdb.Operation, error) {
	t.mark = mark
	r, err := t.findRows(ctx, n)
	if err != nil {
		return nil, err
	}
	if len(r.left) > 0 {
		return nil, fmt.Errorf("%s in %s is left of another state's router %q that somebody removed: remove it first by ovn-nbctl, or call this one otherwise", r.left[0], n, t.name)
	}
	group, operations := t.putOutside(r, want)
	ports, err := t.listPorts(r, want, group)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(r.checkGuests(want), r.checkFloating(want), r.checkOutside(want), t.checkForeign(r, want), r.checkFailover(want, Planned{})); err != nil {
		return nil, err
	}
	failover, err := r.putFailover(want.Failover)
	if err != nil {
		return nil, err
	}
	operations = append(operations, failover...)
	nat, routes := t.listNAT(r, want), t.listRoutes(want)
	own, _ := t.splitNAT(r, want)
	ids := map[string]string{markKey: mark, failoverKey: want.Failover.formatNote(), snatKey: ""}
	if want.SNAT {
		ids[snatKey] = "true"
	}
	guard := unlessNamed(NorthDB, &RouterRow{}, "name", t.name)
	uuid := ""
	if r.router != nil {
		uuid = r.router.UUID
		guard = whileOwned(NorthDB, r.router, uuid, r.router.ExternalIDs)
		if changes := putKeys(externalIDs, r.router.ExternalIDs, ids); len(changes) > 0 {
			operations = append(operations, mutate(NorthDB, r.router, uuid, changes...))
		}
	}
	operations = append(operations, putChildren(&RouterPort{}, &RouterRow{}, uuid, "ports", keyRows(slices.Collect(maps.Values(r.ports)), func(p *RouterPort) string { return p.Name }), ports)...)
	operations = append(operations, putChildren(&NAT{}, &RouterRow{}, uuid, "nat", keyRows(own, func(x *NAT) string { return natKey(x.Type, x.External, x.Logical) }), nat)...)
	operations = append(operations, putChildren(&StaticRoute{}, &RouterRow{}, uuid, "static_routes", keyRows(r.routes, func(x *StaticRoute) string { return routeKey(x.Prefix, x.Via) }), routes)...)
	if r.router == nil {
		operations = append(operations, insert(NorthDB, &RouterRow{}, "router", map[string]any{
			"name": t.name, externalIDs: pairs(withoutEmpty(ids)),
			"ports": childNames("ports", ports), "nat": childNames("nat", nat), "static_routes": childNames("static_routes", routes),
		}))
	}
	operations = append(operations, t.putPeers(r, want.Networks)...)
	if len(operations) == 0 {
		return nil, nil
	}
	return append(append([]ovsdb.Operation{guard}, r.guardNetworks(want.Networks)...), operations...), nil
}

// guardNetworks has a transaction refused where networks have other addresses, or another mode, than what was planned by: what the router translates, and its
// addresses there, follow from these, and a network that changes at the same time does not see the router that comes.
func (r routerRows) guardNetworks(networks []string) (operations []ovsdb.Operation) {
	for _, name := range networks {
		s := r.networks[name]
		operations = append(operations, whileSame(NorthDB, &s, s.UUID, externalIDs, pairs(s.ExternalIDs)), whileSame(NorthDB, &s, s.UUID, "other_config", pairs(s.OtherConfig)))
	}
	return operations
}

// putPeers has the networks that are wanted, and no others, lead to the router.
func (t routerThing) putPeers(r routerRows, want []string) (operations []ovsdb.Operation) {
	for _, network := range slices.Sorted(maps.Keys(r.networks)) {
		s := r.networks[network]
		peer, there := r.peers[network]
		has, wants := map[string]child{}, map[string]child{}
		if there {
			has["peer "+network] = child{row: &peer}
		}
		if slices.Contains(want, network) {
			wants["peer "+network] = child{columns: map[string]any{"type": "router", "addresses": texts("router"), "options": pairs(map[string]string{"router-port": t.portTo(network)}), externalIDs: t.childIDs()}}
			if !there {
				operations = append(operations, whileSame(NorthDB, &s, s.UUID, "ports", references(s.Ports...))) // nobody else's router came meanwhile
				wants["peer "+network].columns["name"] = t.portFrom(network)
			}
		}
		operations = append(operations, putChildren(&Port{}, &Switch{}, s.UUID, "ports", has, wants)...)
		if len(wants) != len(has) {
			operations = append(operations, r.putBalancers(s, len(wants) > 0)...)
		}
	}
	return operations
}

// putBalancers has a network that the router connects from now on, or no more, have the load balancers that are on the router. Those of a
// person stay as they are.
func (r routerRows) putBalancers(s Switch, wanted bool) (operations []ovsdb.Operation) {
	mutator := ovsdb.MutateOperationDelete
	if wanted {
		mutator = ovsdb.MutateOperationInsert
	}
	for _, b := range r.balancers {
		if b.ExternalIDs[markKey] != "" && slices.Contains(s.Balancers, b.UUID) != wanted {
			operations = append(operations, mutate(NorthDB, &s, s.UUID, *ovsdb.NewMutation("load_balancer", mutator, references(b.UUID))))
		}
	}
	return operations
}

// Drop implements Thing.
func (t routerThing) Drop(ctx context.Context, n *Northbound) ([]ovsdb.Operation, error) {
	r, err := t.findRows(ctx, n)
	if err != nil {
		return nil, err
	}
	return t.dropRows(r, n)
}

// dropRows is Drop by rows, of a database.
func (t routerThing) dropRows(r routerRows, n fmt.Stringer) ([]ovsdb.Operation, error) {
	failover, err := r.putFailover(nil)
	if err != nil {
		return nil, err
	}
	_, outside := t.putOutside(r, Router{})
	around := slices.Concat(failover, t.putPeers(r, nil), outside)
	if r.router == nil {
		return around, nil
	}
	if len(r.foreign) > 0 {
		return nil, fmt.Errorf("router %q in %s has %d ports that are not its own, such as %q: take them off it first", t.name, n, len(r.foreign), r.foreign[0])
	}
	if _, foreign := t.splitNAT(r, Router{}); len(foreign) > 0 {
		x := foreign[0]
		return nil, fmt.Errorf("router %q in %s translates by %d rows that are not its own, such as %q: take them off it first by `ovn-nbctl lr-nat-del`", t.name, n, len(foreign), natKey(x.Type, x.External, x.Logical))
	}
	if len(r.foreignRoutes) > 0 {
		x := r.foreignRoutes[0]
		return nil, fmt.Errorf("router %q in %s has %d routes that are not its own, such as to %s by %s: take them off it first by `ovn-nbctl lr-route-del`", t.name, n, len(r.foreignRoutes), x.Prefix, x.Via)
	}
	if policies := len(r.router.Policies); policies > 0 {
		return nil, fmt.Errorf("router %q in %s has %d policies, which are not its own: take them off it first by `ovn-nbctl lr-policy-del`", t.name, n, policies)
	}
	operations := []ovsdb.Operation{whileOwned(NorthDB, r.router, r.router.UUID, r.router.ExternalIDs), remove(NorthDB, r.router, r.router.UUID)}
	for _, port := range slices.Sorted(maps.Keys(r.ports)) {
		operations = append(operations, remove(NorthDB, &RouterPort{}, r.ports[port].UUID))
	}
	return append(operations, around...), nil
}
