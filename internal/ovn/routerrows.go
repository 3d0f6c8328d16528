package ovn

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/ovn-kubernetes/libovsdb/ovsdb"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// routerKey is the key of external_ids of the port, switch or group that is a router's: its name.
const routerKey = "virtcluster-router"

// routerThing is a router by its name.
type routerThing struct{ name string }

// NewRouter returns the router of a name.
func NewRouter(name string) Thing[Router] { return routerThing{name} }

func (routerThing) Noun() string   { return "OVN router" }
func (t routerThing) Name() string { return t.name }

// outsideName names the switch, the port and the group by which a router is part of a network of the chassis.
func (t routerThing) outsideName() string { return t.name + "-external" }

// portTo is the name of the router's port to a network, and of that one's port to the router.
func (t routerThing) portTo(network string) string { return t.name + "-" + network }

func (t routerThing) portFrom(network string) string { return network + "-" + t.name }

// routerRows are the rows of a router; what is not there is nil.
type routerRows struct {
	router *RouterRow
	ports  map[string]RouterPort
	// foreign are the ports that a person gave the router; nat has what a person has it translate too, which splitNAT tells apart.
	foreign []string
	nat     []NAT
	routes  []StaticRoute
	group   *ChassisGroup
	members []GroupMember
	// external is the switch that is part of a network of the chassis, and outside its own ports there and to the router.
	external *Switch
	outside  []Port
	// peers are the ports of networks that lead to the router, by the names of the networks, and networks all switches by their names.
	peers    map[string]Port
	networks map[string]Switch
	// neighbours are the ports that other routers have, by the names of their networks, and foreignNAT what these routers translate.
	neighbours map[string][]RouterPort
	foreignNAT []NAT
	// mappings are the networks that are part of one of the chassis, by their names: what chassis call that one.
	mappings map[string]string
	// guests are the ports of networks that lead to no router, others the other routers, and balancers those on the router.
	guests    []Port
	others    []RouterRow
	balancers []Balancer
	global    *Global
}

func (t routerThing) findRows(ctx context.Context, n *Northbound) (r routerRows, err error) {
	r.ports, r.peers, r.networks = map[string]RouterPort{}, map[string]Port{}, map[string]Switch{}
	if r.router, err = Row(ctx, n.North, func(row *RouterRow) bool { return row.Name == t.name }); err != nil {
		return r, err
	}
	if r.others, err = Rows(ctx, n.North, func(row *RouterRow) bool { return row.Name != t.name }); err != nil {
		return r, err
	}
	if r.guests, err = Rows(ctx, n.North, func(p *Port) bool { return p.Type == "" }); err != nil {
		return r, err
	}
	if r.global, err = n.findGlobal(ctx); err != nil {
		return r, err
	}
	switches, err := Rows(ctx, n.North, All[Switch])
	if err != nil {
		return r, err
	}
	for _, s := range switches {
		if s.ExternalIDs[routerKey] == t.name {
			r.external = &s
		} else {
			r.networks[s.Name] = s
		}
	}
	ports, err := Rows(ctx, n.North, func(p *Port) bool { return p.ExternalIDs[routerKey] == t.name })
	if err != nil {
		return r, err
	}
	for _, p := range ports {
		if r.external != nil && slices.Contains(r.external.Ports, p.UUID) {
			r.outside = append(r.outside, p)
		}
		for name, s := range r.networks {
			if slices.Contains(s.Ports, p.UUID) {
				r.peers[name] = p
			}
		}
	}
	if err := r.readNeighbours(ctx, n, t.name); err != nil {
		return r, err
	}
	if r.group, err = Row(ctx, n.North, func(g *ChassisGroup) bool { return g.ExternalIDs[routerKey] == t.name }); err != nil {
		return r, err
	}
	if r.group != nil {
		r.members, err = Rows(ctx, n.North, func(m *GroupMember) bool { return slices.Contains(r.group.Members, m.UUID) })
	}
	if err != nil || r.router == nil {
		return r, err
	}
	own, err := Rows(ctx, n.North, func(p *RouterPort) bool { return slices.Contains(r.router.Ports, p.UUID) })
	if err != nil {
		return r, err
	}
	for _, p := range own {
		if t.isOwnPort(p.Name, r.networks) {
			r.ports[p.Name] = p
		} else {
			r.foreign = append(r.foreign, p.Name)
		}
	}
	if r.nat, err = Rows(ctx, n.North, func(x *NAT) bool { return slices.Contains(r.router.NAT, x.UUID) }); err != nil {
		return r, err
	}
	if r.routes, err = Rows(ctx, n.North, func(x *StaticRoute) bool { return slices.Contains(r.router.Routes, x.UUID) }); err != nil {
		return r, err
	}
	r.balancers, err = Rows(ctx, n.North, func(b *Balancer) bool { return slices.Contains(r.router.Balancers, b.UUID) })
	return r, err
}

// readNeighbours reads which ports other routers than the one of a name have, and on which networks.
func (r *routerRows) readNeighbours(ctx context.Context, n *Northbound, name string) error {
	r.neighbours, r.mappings = map[string][]RouterPort{}, map[string]string{}
	peers, err := Rows(ctx, n.North, func(p *Port) bool { return p.Type == "router" && p.ExternalIDs[routerKey] != name })
	if err != nil {
		return err
	}
	ports, err := Rows(ctx, n.North, func(p *RouterPort) bool { return r.router == nil || !slices.Contains(r.router.Ports, p.UUID) })
	if err != nil {
		return err
	}
	for _, peer := range peers {
		at := slices.IndexFunc(ports, func(p RouterPort) bool { return p.Name == peer.Options["router-port"] })
		for network, s := range r.networks {
			if at >= 0 && slices.Contains(s.Ports, peer.UUID) {
				r.neighbours[network] = append(r.neighbours[network], ports[at])
			}
		}
	}
	if r.foreignNAT, err = Rows(ctx, n.North, func(x *NAT) bool { return r.router == nil || !slices.Contains(r.router.NAT, x.UUID) }); err != nil {
		return err
	}
	localnets, err := Rows(ctx, n.North, func(p *Port) bool { return p.Type == "localnet" })
	for _, p := range localnets {
		for network, s := range r.networks {
			if slices.Contains(s.Ports, p.UUID) {
				r.mappings[network] = p.Options["network_name"]
			}
		}
	}
	return err
}

// isOwnPort says whether a port of the router has a name that this provider gives one.
func (t routerThing) isOwnPort(name string, networks map[string]Switch) bool {
	network, leads := strings.CutPrefix(name, t.portTo(""))
	_, there := networks[network]
	return name == t.outsideName() || leads && there
}

// Look implements Thing.
func (t routerThing) Look(ctx context.Context, n *Northbound) (Router, map[string]string, error) {
	r, err := t.findRows(ctx, n)
	if err != nil || r.router == nil {
		return Router{}, nil, err
	}
	ids := r.router.ExternalIDs
	if ids == nil {
		ids = map[string]string{}
	}
	return t.readRouter(r), ids, nil
}

// readRouter returns what the rows of a router say; it is none where there is none.
func (t routerThing) readRouter(r routerRows) Router {
	got := Router{Name: t.name, Floating: map[string]Floating{}}
	if r.router == nil {
		return got
	}
	got.Failover = failoverOf(r.router, r.global)
	for network, peer := range r.peers {
		port, there := r.ports[peer.Options["router-port"]]
		// A port at another address than the network's gateway is not what was asked for.
		if s := r.networks[network]; there && port.isRouterOf(&s) {
			got.Networks = append(got.Networks, network)
		}
	}
	slices.Sort(got.Networks)
	got.readExternal(r, r.ports[t.outsideName()])
	got.readNAT(r)
	for _, x := range r.routes {
		cidr, _ := netip.ParsePrefix(x.Prefix)
		via, _ := netip.ParseAddr(x.Via)
		if got.External != nil && got.External.Address.Contains(via) && cidr == defaultRoute(via) {
			got.External.Gateway = via
			continue
		}
		got.Routes = append(got.Routes, Route{cidr, via})
	}
	slices.SortFunc(got.Routes, func(a, b Route) int { return a.CIDR.Compare(b.CIDR) })
	return got
}

// findAddresses returns the addresses of the router on a network: its gateway, and the first one of its network of IPv6.
func (r routerRows) findAddresses(network string) ([]netip.Prefix, error) {
	s, there := r.networks[network]
	all := routerAddresses(&s)
	switch {
	case !there:
		return nil, fmt.Errorf("there is no network %q", network)
	case len(all) > 0:
		return all, nil
	case s.OtherConfig["subnet"] == "":
		return nil, fmt.Errorf("network %q has no cidr, in which the router could have an address", network)
	}
	return nil, fmt.Errorf("network %q has no gateway, which would be the router's address there", network)
}

// listPorts returns the router's ports that are wanted. group is what the one to the outside refers to.
func (t routerThing) listPorts(r routerRows, want Router, group string) (map[string]child, error) {
	all, networks := map[string]child{}, map[string][]netip.Prefix{}
	add := func(name, network string, addresses []netip.Prefix) child {
		networks[network] = maskAll(addresses)
		c := child{columns: map[string]any{"name": name, "mac": hardwareAddress(name), "networks": texts(textsOf(addresses)...), "ha_chassis_group": references(), "ipv6_ra_configs": pairs(nil)}}
		all[name] = c
		return c
	}
	for i, network := range want.Networks {
		addresses, err := r.findAddresses(network)
		if err != nil {
			return nil, service.At([]any{"networks", i}, err)
		}
		for _, address := range addresses {
			if at := slices.IndexFunc(r.neighbours[network], func(p RouterPort) bool { return slices.Contains(p.Networks, address.String()) }); at >= 0 {
				return nil, service.At([]any{"networks", i}, fmt.Errorf("port %q of another router has %s, the address of the gateway of network %q: one router leads out of a network by it", r.neighbours[network][at].Name, address.Addr(), network))
			}
		}
		s := r.networks[network]
		add(t.portTo(network), network, addresses).columns["ipv6_ra_configs"] = pairs(advertisement(&s))
	}
	if want.External != nil {
		add(t.outsideName(), t.outsideName(), []netip.Prefix{want.External.Address}).columns["ha_chassis_group"] = references(group)
	}
	return all, service.At([]any{"networks"}, findOverlap(networks))
}

// listRoutes returns the router's static routes.
func (t routerThing) listRoutes(want Router) map[string]child {
	all := map[string]child{}
	add := func(prefix, via string) {
		all[prefix+" "+via] = child{columns: map[string]any{"ip_prefix": prefix, "nexthop": via}}
	}
	for _, route := range want.Routes {
		add(route.CIDR.String(), route.Via.String())
	}
	if want.External != nil && want.External.Gateway.IsValid() {
		add(defaultRoute(want.External.Gateway).String(), want.External.Gateway.String())
	}
	return all
}

// CheckRouter finds what keeps a router from connecting networks, as the plan has them or as they are there: no address for it, or addresses in
// common. Networks that are in neither are left to its making, and so are other routers' ports, which may be gone by then. Where the database
// does not answer, what the plan has is compared alone.
func CheckRouter(ctx context.Context, n *Northbound, want Router, planned Planned) error {
	t := routerThing{want.Name}
	r, err := t.findRows(ctx, n)
	if err != nil {
		r = routerRows{networks: map[string]Switch{}, global: &Global{}}
	}
	r.overlayPlan(planned)
	return t.checkRows(r, want)
}

// checkRows is CheckRouter by rows.
func (t routerThing) checkRows(r routerRows, want Router) error {
	want.Networks = slices.DeleteFunc(slices.Clone(want.Networks), func(name string) bool { _, there := r.networks[name]; return !there })
	r.neighbours = nil
	_, err := t.listPorts(r, want, "")
	if err == nil {
		_, err = r.putFailover(want.Failover)
	}
	if err == nil {
		err = r.checkFloating(want)
	}
	return err
}

// Put implements Thing.
func (t routerThing) Put(ctx context.Context, n *Northbound, want Router, mark string) ([]ovsdb.Operation, error) {
	r, err := t.findRows(ctx, n)
	if err != nil {
		return nil, err
	}
	group, operations := t.putOutside(r, want)
	ports, err := t.listPorts(r, want, group)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(r.checkGuests(want), r.checkFloating(want), r.checkOutside(want)); err != nil {
		return nil, err
	}
	failover, err := r.putFailover(want.Failover)
	if err != nil {
		return nil, err
	}
	operations = append(operations, failover...)
	nat, routes := t.listNAT(r, want), t.listRoutes(want)
	own, _ := t.splitNAT(r, want)
	ids := map[string]string{markKey: mark, failoverKey: want.Failover.formatNote()}
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
	operations = append(operations, putChildren(&StaticRoute{}, &RouterRow{}, uuid, "static_routes", keyRows(r.routes, func(x *StaticRoute) string { return x.Prefix + " " + x.Via }), routes)...)
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
	return append([]ovsdb.Operation{guard}, operations...), nil
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
			wants["peer "+network] = child{columns: map[string]any{"type": "router", "addresses": texts("router"), "options": pairs(map[string]string{"router-port": t.portTo(network)})}}
			if !there {
				operations = append(operations, whileSame(NorthDB, &s, s.UUID, "ports", references(s.Ports...))) // nobody else's router came meanwhile
				wants["peer "+network].columns["name"] = t.portFrom(network)
				wants["peer "+network].columns[externalIDs] = pairs(map[string]string{routerKey: t.name})
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
	if err != nil || r.router == nil {
		return nil, err
	}
	if len(r.foreign) > 0 {
		return nil, fmt.Errorf("router %q in %s has %d ports that are not its own, such as %q: take them off it first", t.name, n, len(r.foreign), r.foreign[0])
	}
	if _, foreign := t.splitNAT(r, Router{}); len(foreign) > 0 {
		x := foreign[0]
		return nil, fmt.Errorf("router %q in %s translates by %d rows that are not its own, such as %q: take them off it first by `ovn-nbctl lr-nat-del`", t.name, n, len(foreign), natKey(x.Type, x.External, x.Logical))
	}
	operations := []ovsdb.Operation{whileOwned(NorthDB, r.router, r.router.UUID, r.router.ExternalIDs), remove(NorthDB, r.router, r.router.UUID)}
	for _, port := range slices.Sorted(maps.Keys(r.ports)) {
		operations = append(operations, remove(NorthDB, &RouterPort{}, r.ports[port].UUID))
	}
	failover, err := r.putFailover(nil)
	if err != nil {
		return nil, err
	}
	operations = append(append(operations, failover...), t.putPeers(r, nil)...)
	_, outside := t.putOutside(r, Router{})
	return append(operations, outside...), nil
}
