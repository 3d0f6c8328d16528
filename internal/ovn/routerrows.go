package ovn

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/ovn-kubernetes/libovsdb/ovsdb"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
)

// Keys of external_ids: routerKey of what is a router's, its name, beside the router's mark; snatKey of a router that translates.
const (
	routerKey = "virtcluster-router"
	snatKey   = "virtcluster-snat"
)

// routerThing is a router by its name; mark is what its rows are to have, where it is put.
type routerThing struct{ name, mark string }

// NewRouter returns the router of a name.
func NewRouter(name string) Thing[Router] { return routerThing{name: name} }

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
	// foreign are the ports that a person gave the router, and left what another state's router of that name has left.
	foreign []string
	left    []string
	// nat and routes are the router's own, and foreignNAT and foreignRoutes what a person has it do beside.
	nat           []NAT
	foreignNAT    []NAT
	routes        []StaticRoute
	foreignRoutes []StaticRoute
	group         *ChassisGroup
	members       []GroupMember
	// external is the switch that is part of a network of the chassis, and outside its own ports there and to the router.
	external *Switch
	outside  []Port
	// peers are the ports of networks that lead to the router, by the names of the networks, and networks all switches by their names.
	peers    map[string]Port
	networks map[string]Switch
	// neighbours are the ports that other routers have, by the names of their networks, and othersNAT what these routers translate.
	neighbours map[string][]RouterPort
	othersNAT  []NAT
	// mappings are the networks that are part of one of the chassis, by their names: what chassis call that one.
	mappings map[string]string
	// undecided are the networks of this state of which a plan does not say yet what they will be.
	undecided map[string]bool
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
		switch {
		case t.isOwn(r.router, s.ExternalIDs):
			r.external = &s
		case s.ExternalIDs[routerKey] == t.name:
			r.left = append(r.left, "switch "+s.Name)
		default:
			r.networks[s.Name] = s
		}
	}
	ports, err := Rows(ctx, n.North, func(p *Port) bool { return t.isOwn(r.router, p.ExternalIDs) })
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
	if r.group, err = Row(ctx, n.North, func(g *ChassisGroup) bool { return t.isOwn(r.router, g.ExternalIDs) }); err != nil {
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
		if t.isOwnPort(r, p) {
			r.ports[p.Name] = p
		} else {
			r.foreign = append(r.foreign, p.Name)
		}
	}
	nat, err := Rows(ctx, n.North, func(x *NAT) bool { return slices.Contains(r.router.NAT, x.UUID) })
	if err != nil {
		return r, err
	}
	routes, err := Rows(ctx, n.North, func(x *StaticRoute) bool { return slices.Contains(r.router.Routes, x.UUID) })
	if err != nil {
		return r, err
	}
	r.nat, r.foreignNAT = splitRows(nat, func(x NAT) bool { return r.isPersons() || t.isOwn(r.router, x.ExternalIDs) })
	r.routes, r.foreignRoutes = splitRows(routes, func(x StaticRoute) bool { return r.isPersons() || t.isOwn(r.router, x.ExternalIDs) })
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
	if r.othersNAT, err = Rows(ctx, n.North, func(x *NAT) bool { return r.router == nil || !slices.Contains(r.router.NAT, x.UUID) }); err != nil {
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

// isPersons says whether a person made the router, which a state has imported and not changed yet: all that it has is its own.
func (r routerRows) isPersons() bool { return owner.Parse(r.router.ExternalIDs[markKey]).ID == "" }

// childIDs are the external_ids of a row that is the router's.
func (t routerThing) childIDs() ovsdb.OvsMap {
	return pairs(map[string]string{routerKey: t.name, markKey: owner.Parse(t.mark).Finished().String()})
}

// isOwn says whether a row with these external_ids is the router's: what another state's router of that name has left is not. Of a router that is gone, and
// that this state makes anew, what was left is its own.
func (t routerThing) isOwn(router *RouterRow, ids map[string]string) bool {
	mark := owner.Parse(ids[markKey])
	switch {
	case ids[routerKey] != t.name:
		return false
	case router == nil:
		return mark.IsHere()
	}
	return isOfSameState(mark, owner.Parse(router.ExternalIDs[markKey]))
}

// isOwnPort says whether a port of the router is its own. One of a person's router, which has no mark, is where it has a name that this provider gives one.
func (t routerThing) isOwnPort(r routerRows, p RouterPort) bool {
	if !r.isPersons() {
		return t.isOwn(r.router, p.ExternalIDs)
	}
	network, leads := strings.CutPrefix(p.Name, t.portTo(""))
	_, there := r.networks[network]
	return p.Name == t.outsideName() || leads && there
}

// splitRows tells apart the rows that a router has.
func splitRows[R any](rows []R, isOwn func(R) bool) (own, foreign []R) {
	for _, row := range rows {
		if isOwn(row) {
			own = append(own, row)
		} else {
			foreign = append(foreign, row)
		}
	}
	return own, foreign
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
	case modeOf(&s) == Isolated:
		return nil, fmt.Errorf("network %q is isolated, and a router leads out of it: write its mode as %q, %q or %q", network, Translated, Routed, Open)
	case len(all) > 0:
		return all, nil
	case s.OtherConfig["subnet"] == "":
		return nil, fmt.Errorf("network %q has no cidr, in which the router could have an address", network)
	}
	return nil, fmt.Errorf("network %q has no gateway, which would be the router's address there", network)
}
