package ovn

import (
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"net/netip"
	"slices"

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

// outside names the switch, the port and the group by which a router is part of a network of the chassis.
func (t routerThing) outside() string { return t.name + "-external" }

// portTo is the name of the router's port to a network, and of that one's port to the router.
func (t routerThing) portTo(network string) string { return t.name + "-" + network }

func (t routerThing) portFrom(network string) string { return network + "-" + t.name }

// routerRows are the rows of a router; what is not there is nil.
type routerRows struct {
	router  *RouterRow
	ports   map[string]RouterPort
	nat     []NAT
	routes  []StaticRoute
	group   *ChassisGroup
	members []GroupMember
	// external is the switch that is part of a network of the chassis, and localnet its port there.
	external *Switch
	localnet *Port
	// peers are the ports of networks that lead to the router, by the names of the networks, and networks all switches by their names.
	peers    map[string]Port
	networks map[string]Switch
	// others are the ports that other routers have, by the names of their networks.
	others map[string][]RouterPort
}

func (t routerThing) rows(ctx context.Context, n *Northbound) (r routerRows, err error) {
	r.ports, r.peers, r.networks = map[string]RouterPort{}, map[string]Port{}, map[string]Switch{}
	if r.router, err = Row(ctx, n.North, func(row *RouterRow) bool { return row.Name == t.name }); err != nil {
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
		if p.Type == "localnet" {
			r.localnet = &p
		}
		for name, s := range r.networks {
			if slices.Contains(s.Ports, p.UUID) {
				r.peers[name] = p
			}
		}
	}
	if err := r.readOthers(ctx, n, t.name); err != nil {
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
		r.ports[p.Name] = p
	}
	if r.nat, err = Rows(ctx, n.North, func(x *NAT) bool { return slices.Contains(r.router.NAT, x.UUID) }); err != nil {
		return r, err
	}
	r.routes, err = Rows(ctx, n.North, func(x *StaticRoute) bool { return slices.Contains(r.router.Routes, x.UUID) })
	return r, err
}

// readOthers reads which ports other routers than the one of a name have, and on which networks.
func (r *routerRows) readOthers(ctx context.Context, n *Northbound, name string) error {
	r.others = map[string][]RouterPort{}
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
				r.others[network] = append(r.others[network], ports[at])
			}
		}
	}
	return nil
}

// Look implements Thing.
func (t routerThing) Look(ctx context.Context, n *Northbound) (Router, map[string]string, error) {
	r, err := t.rows(ctx, n)
	if err != nil || r.router == nil {
		return Router{}, nil, err
	}
	ids := r.router.ExternalIDs
	if ids == nil {
		ids = map[string]string{}
	}
	got := Router{Name: t.name, Floating: map[string]Floating{}}
	for network, peer := range r.peers {
		port, there := r.ports[peer.Options["router-port"]]
		// A port at another address than the network's gateway is not what was asked for.
		if want, err := t.address(r, network); there && err == nil && slices.Equal(port.Networks, []string{want.String()}) {
			got.Networks = append(got.Networks, network)
		}
	}
	slices.Sort(got.Networks)
	got.readExternal(r, r.ports[t.outside()])
	for _, x := range r.nat {
		switch x.Type {
		case "snat":
			got.SNAT = got.External != nil && x.External == got.External.Address.Addr().String()
		case "dnat_and_snat":
			inside, _ := netip.ParseAddr(x.Logical)
			got.Floating[x.External] = Floating{inside}
		}
	}
	if got.SNAT && len(t.nat(r, got)) != len(r.nat) {
		got.SNAT = false // of some networks alone
	}
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
	return got, ids, nil
}

func (r *Router) readExternal(rows routerRows, port RouterPort) {
	if rows.external == nil || len(port.Networks) == 0 {
		return
	}
	r.External = &External{}
	r.External.Address, _ = netip.ParsePrefix(port.Networks[0])
	if rows.localnet != nil {
		r.External.BridgeMapping = rows.localnet.Options["network_name"]
	}
	members := slices.SortedFunc(slices.Values(rows.members), func(a, b GroupMember) int { return b.Priority - a.Priority })
	for _, m := range members {
		r.External.Chassis = append(r.External.Chassis, m.Chassis)
	}
}

// address is the router's on a network: that of its gateway.
func (t routerThing) address(r routerRows, network string) (netip.Prefix, error) {
	s, there := r.networks[network]
	if !there {
		return netip.Prefix{}, fmt.Errorf("there is no network %q", network)
	}
	cidr, err := netip.ParsePrefix(s.OtherConfig["subnet"])
	if err != nil {
		return netip.Prefix{}, fmt.Errorf("network %q has no cidr, in which the router could have an address", network)
	}
	gateway, err := netip.ParseAddr(s.ExternalIDs[gatewayKey])
	if err != nil {
		return netip.Prefix{}, fmt.Errorf("network %q has no gateway, which would be the router's address there", network)
	}
	return netip.PrefixFrom(gateway, cidr.Bits()), nil
}

// ports are the router's ports that are wanted. group is what the one to the outside refers to.
func (t routerThing) ports(r routerRows, want Router, group string) (map[string]child, error) {
	all, networks := map[string]child{}, map[string]netip.Prefix{}
	add := func(name string, address netip.Prefix) child {
		sum := sha256.Sum256([]byte(name))
		c := child{columns: map[string]any{
			"name": name, "mac": fmt.Sprintf("0a:%02x:%02x:%02x:%02x:%02x", sum[0], sum[1], sum[2], sum[3], sum[4]), "networks": texts(address.String()), "ha_chassis_group": references(),
		}}
		all[name] = c
		return c
	}
	for i, network := range want.Networks {
		address, err := t.address(r, network)
		if err != nil {
			return nil, service.At([]any{"networks", i}, err)
		}
		if at := slices.IndexFunc(r.others[network], func(p RouterPort) bool { return slices.Contains(p.Networks, address.String()) }); at >= 0 {
			return nil, service.At([]any{"networks", i}, fmt.Errorf("port %q of another router has %s, the address of the gateway of network %q: one router leads out of a network by it", r.others[network][at].Name, address.Addr(), network))
		}
		networks[network] = address.Masked()
		add(t.portTo(network), address)
	}
	if want.External != nil {
		networks[t.outside()] = want.External.Address.Masked()
		add(t.outside(), want.External.Address).columns["ha_chassis_group"] = references(group)
	}
	return all, service.At([]any{"networks"}, overlap(networks))
}

// nat is what the router translates.
func (t routerThing) nat(r routerRows, want Router) map[string]child {
	all := map[string]child{}
	add := func(kind, external, logical string) {
		all[kind+" "+external+" "+logical] = child{columns: map[string]any{"type": kind, "external_ip": external, "logical_ip": logical}}
	}
	if want.External == nil {
		return all
	}
	for _, network := range want.Networks {
		if address, err := t.address(r, network); err == nil && want.SNAT {
			add("snat", want.External.Address.Addr().String(), address.Masked().String())
		}
	}
	for outside, f := range want.Floating {
		add("dnat_and_snat", outside, f.Inside.String())
	}
	return all
}

// routes are the router's static routes.
func (t routerThing) routes(want Router) map[string]child {
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

// CheckRouter finds what keeps a router from connecting networks that are there: no address for it, or addresses in common. Networks that
// are not there yet are left to its making, and so are other routers' ports, which may be gone by then.
func CheckRouter(ctx context.Context, n *Northbound, want Router) error {
	t := routerThing{want.Name}
	r, err := t.rows(ctx, n)
	if err != nil {
		return err
	}
	want.Networks = slices.DeleteFunc(slices.Clone(want.Networks), func(name string) bool { _, there := r.networks[name]; return !there })
	r.others = nil
	_, err = t.ports(r, want, "")
	return err
}

// Put implements Thing.
func (t routerThing) Put(ctx context.Context, n *Northbound, want Router, mark string) ([]ovsdb.Operation, error) {
	r, err := t.rows(ctx, n)
	if err != nil {
		return nil, err
	}
	group, operations := t.putOutside(r, want)
	ports, err := t.ports(r, want, group)
	if err != nil {
		return nil, err
	}
	nat, routes := t.nat(r, want), t.routes(want)
	guard := unless(NorthDB, &RouterRow{}, "name", t.name)
	uuid := ""
	if r.router != nil {
		uuid = r.router.UUID
		guard = while(NorthDB, r.router, uuid, r.router.ExternalIDs)
		if changes := putKeys(externalIDs, r.router.ExternalIDs, map[string]string{markKey: mark}); len(changes) > 0 {
			operations = append(operations, mutate(NorthDB, r.router, uuid, changes...))
		}
	}
	operations = append(operations, putChildren(&RouterPort{}, &RouterRow{}, uuid, "ports", r.portChildren(), ports)...)
	operations = append(operations, putChildren(&NAT{}, &RouterRow{}, uuid, "nat", r.natChildren(), nat)...)
	operations = append(operations, putChildren(&StaticRoute{}, &RouterRow{}, uuid, "static_routes", r.routeChildren(), routes)...)
	if r.router == nil {
		operations = append(operations, insert(NorthDB, &RouterRow{}, "router", map[string]any{
			"name": t.name, externalIDs: pairs(map[string]string{markKey: mark}),
			"ports": childNames("ports", ports), "nat": childNames("nat", nat), "static_routes": childNames("static_routes", routes),
		}))
	}
	operations = append(operations, t.putPeers(r, want.Networks)...)
	if len(operations) == 0 {
		return nil, nil
	}
	return append([]ovsdb.Operation{guard}, operations...), nil
}

func (r routerRows) portChildren() map[string]child {
	all := map[string]child{}
	for name, p := range r.ports {
		group := references()
		if p.Group != nil {
			group = references(*p.Group)
		}
		all[name] = child{p.UUID, map[string]any{"name": name, "mac": p.MAC, "networks": texts(p.Networks...), "ha_chassis_group": group}}
	}
	return all
}

func (r routerRows) natChildren() map[string]child {
	all := map[string]child{}
	for _, x := range r.nat {
		all[x.Type+" "+x.External+" "+x.Logical] = child{x.UUID, map[string]any{"type": x.Type, "external_ip": x.External, "logical_ip": x.Logical}}
	}
	return all
}

func (r routerRows) routeChildren() map[string]child {
	all := map[string]child{}
	for _, x := range r.routes {
		all[x.Prefix+" "+x.Via] = child{x.UUID, map[string]any{"ip_prefix": x.Prefix, "nexthop": x.Via}}
	}
	return all
}

// putPeers has the networks that are wanted, and no others, lead to the router.
func (t routerThing) putPeers(r routerRows, want []string) (operations []ovsdb.Operation) {
	for _, network := range slices.Sorted(maps.Keys(r.networks)) {
		s := r.networks[network]
		peer, there := r.peers[network]
		has, wants := map[string]child{}, map[string]child{}
		if there {
			has["peer "+network] = child{peer.UUID, map[string]any{"type": peer.Type, "addresses": texts(peer.Addresses...), "options": pairs(peer.Options)}}
		}
		if slices.Contains(want, network) {
			wants["peer "+network] = child{columns: map[string]any{"type": "router", "addresses": texts("router"), "options": pairs(map[string]string{"router-port": t.portTo(network)})}}
			if !there {
				operations = append(operations, stays(NorthDB, &s, s.UUID, "ports", references(s.Ports...))) // nobody else's router came meanwhile
				wants["peer "+network].columns["name"] = t.portFrom(network)
				wants["peer "+network].columns[externalIDs] = pairs(map[string]string{routerKey: t.name})
			}
		}
		operations = append(operations, putChildren(&Port{}, &Switch{}, s.UUID, "ports", has, wants)...)
	}
	return operations
}

// putOutside makes, changes or removes what makes the router part of a network of the chassis, and returns the group of chassis that its
// port there refers to.
func (t routerThing) putOutside(r routerRows, want Router) (group string, operations []ovsdb.Operation) {
	if want.External == nil {
		if r.external != nil {
			operations = append(operations, remove(NorthDB, r.external, r.external.UUID))
		}
		if r.group != nil {
			operations = append(operations, remove(NorthDB, r.group, r.group.UUID))
		}
		return "", operations
	}
	ids := pairs(map[string]string{routerKey: t.name})
	members, has := map[string]child{}, map[string]child{}
	for i, chassis := range want.External.Chassis {
		members[chassis] = child{columns: map[string]any{"chassis_name": chassis, "priority": len(want.External.Chassis) - i}}
	}
	for _, m := range r.members {
		has[m.Chassis] = child{m.UUID, map[string]any{"chassis_name": m.Chassis, "priority": m.Priority}}
	}
	if r.group == nil {
		group = "group"
		operations = append(operations, putChildren(&GroupMember{}, &ChassisGroup{}, "", "ha_chassis", nil, members)...)
		operations = append(operations, insert(NorthDB, &ChassisGroup{}, group, map[string]any{"name": t.outside(), "ha_chassis": childNames("ha_chassis", members), externalIDs: ids}))
	} else {
		group = r.group.UUID
		operations = append(operations, putChildren(&GroupMember{}, &ChassisGroup{}, group, "ha_chassis", has, members)...)
	}
	if r.external == nil {
		own := func(columns map[string]any) map[string]any {
			columns[externalIDs] = ids
			return columns
		}
		return group, append(operations,
			insert(NorthDB, &Port{}, "outside_localnet", own(map[string]any{"name": t.outside() + "-localnet", "type": "localnet", "addresses": texts("unknown"), "options": pairs(map[string]string{"network_name": want.External.BridgeMapping})})),
			insert(NorthDB, &Port{}, "outside_router", own(map[string]any{"name": t.portFrom(t.outside()), "type": "router", "addresses": texts("router"), "options": pairs(map[string]string{"router-port": t.outside(), "nat-addresses": "router"})})),
			insert(NorthDB, &Switch{}, "outside", map[string]any{"name": t.outside(), "ports": references("outside_localnet", "outside_router"), externalIDs: ids}))
	}
	if r.localnet != nil && r.localnet.Options["network_name"] != want.External.BridgeMapping {
		operations = append(operations, mutate(NorthDB, r.localnet, r.localnet.UUID, putKeys("options", r.localnet.Options, map[string]string{"network_name": want.External.BridgeMapping})...))
	}
	return group, operations
}

// Drop implements Thing.
func (t routerThing) Drop(ctx context.Context, n *Northbound) ([]ovsdb.Operation, error) {
	r, err := t.rows(ctx, n)
	if err != nil || r.router == nil {
		return nil, err
	}
	operations := []ovsdb.Operation{while(NorthDB, r.router, r.router.UUID, r.router.ExternalIDs), remove(NorthDB, r.router, r.router.UUID)}
	for _, port := range slices.Sorted(maps.Keys(r.ports)) {
		operations = append(operations, remove(NorthDB, &RouterPort{}, r.ports[port].UUID))
	}
	operations = append(operations, t.putPeers(r, nil)...)
	_, outside := t.putOutside(r, Router{})
	return append(operations, outside...), nil
}
