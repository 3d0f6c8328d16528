package ovn

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/ovn-kubernetes/libovsdb/ovsdb"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/plan"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// Protocols that a load balancer takes.
var Protocols = []string{"tcp", "udp"}

// LoadBalancer spreads connections over guests, in plain values.
type LoadBalancer struct {
	Name     string `attr:"name"`
	Protocol string `attr:"protocol"`
	// Router is the one that it is on, with all networks that this connects: with the router alone guests of these would not reach it, and
	// without it nobody would answer for an address of it.
	Router string `attr:"router"`
	// VIPs are what it listens at and what it spreads that over, each an address and a port.
	VIPs map[string][]string `attr:"vips"`
	// HealthCheck is nil where nobody asks whether they live.
	HealthCheck *HealthCheck `attr:"health_check"`
}

// splitBackends are what a row has with commas between.
func splitBackends(backends string) []string {
	return strings.FieldsFunc(backends, func(c rune) bool { return c == ',' || c == ' ' })
}

// Validate finds what is wrong with the load balancer.
func (b LoadBalancer) Validate() []service.Problem {
	var problems []service.Problem
	wrong := func(path []any, summary, format string, args ...any) {
		problems = append(problems, service.Problemf(path, summary, format, args...))
	}
	for _, vip := range slices.Sorted(maps.Keys(b.VIPs)) {
		at := []any{"vips", service.Key(vip)}
		where, err := netip.ParseAddrPort(vip)
		if err != nil || where.Port() == 0 || where.String() != vip {
			wrong(at, "Invalid address", "write an address and a port, such as 10.50.0.100:443 or [fd00::100]:443")
			continue
		}
		for i, backend := range b.VIPs[vip] {
			target, err := netip.ParseAddrPort(backend)
			switch {
			case err != nil || target.Port() == 0:
				wrong(append(slices.Clone(at), i), "Invalid address", "write an address and a port, such as 10.50.0.11:8443")
			case target.Addr().Is4() != where.Addr().Is4():
				wrong(append(slices.Clone(at), i), "Address of another family", "%s and %s are not both of IPv4, or both of IPv6", vip, backend)
			case target.Addr() == where.Addr():
				wrong(append(slices.Clone(at), i), "Load balancer in front of itself", "%s is the address that it listens at", target.Addr())
			}
		}
	}
	return append(problems, b.validateHealthCheck()...)
}

// Uses implements plan.User: other load balancers of the plan are compared with what this one will listen at.
func (b LoadBalancer) Uses() []plan.Use {
	return []plan.Use{{Verb: plan.Gives, Kind: plan.OVNLoadBalancer, Value: b.Name, Of: b, Known: []string{"name", "router", "vips"}}}
}

// balancerThing is a load balancer by its name.
type balancerThing struct{ name string }

// NewLoadBalancer returns the load balancer of a name.
func NewLoadBalancer(name string) Thing[LoadBalancer] { return balancerThing{name} }

func (balancerThing) Noun() string   { return "OVN load balancer" }
func (t balancerThing) Name() string { return t.name }

// balancerRows are the rows of a load balancer, and all that it may be on.
type balancerRows struct {
	balancer *Balancer
	routers  map[string]RouterRow
	// networks are the switches that a router connects, by its name.
	networks map[string][]Switch
	switches []Switch
	// guests are the ports of networks that lead to no router, and checks how the load balancer's addresses ask.
	guests []Port
	checks []HealthCheckRow
	nat    []NAT
	// others are the other load balancers, routerPorts the ports of all routers, and peers and localnets those of networks that lead to routers and
	// to networks of the chassis.
	others      []Balancer
	routerPorts []RouterPort
	peers       []Port
	localnets   []Port
}

func (t balancerThing) findRows(ctx context.Context, n *Northbound) (r balancerRows, err error) {
	r.routers, r.networks = map[string]RouterRow{}, map[string][]Switch{}
	if r.balancer, err = Row(ctx, n.North, func(b *Balancer) bool { return b.Name == t.name }); err != nil {
		return r, err
	}
	if r.guests, err = Rows(ctx, n.North, func(p *Port) bool { return p.Type == "" }); err != nil {
		return r, err
	}
	if r.nat, err = Rows(ctx, n.North, All[NAT]); err != nil {
		return r, err
	}
	if r.balancer != nil {
		if r.checks, err = Rows(ctx, n.North, func(c *HealthCheckRow) bool { return slices.Contains(r.balancer.Checks, c.UUID) }); err != nil {
			return r, err
		}
	}
	routers, err := Rows(ctx, n.North, All[RouterRow])
	if err != nil {
		return r, err
	}
	if r.others, err = Rows(ctx, n.North, func(b *Balancer) bool { return b.Name != t.name }); err != nil {
		return r, err
	}
	if r.routerPorts, err = Rows(ctx, n.North, All[RouterPort]); err != nil {
		return r, err
	}
	if r.localnets, err = Rows(ctx, n.North, func(p *Port) bool { return p.Type == "localnet" }); err != nil {
		return r, err
	}
	if r.peers, err = Rows(ctx, n.North, func(p *Port) bool { return p.Type == "router" }); err != nil {
		return r, err
	}
	if r.switches, err = Rows(ctx, n.North, All[Switch]); err != nil {
		return r, err
	}
	for _, row := range routers {
		r.routers[row.Name] = row
		for _, s := range r.switches {
			onRouter := slices.ContainsFunc(r.peers, func(p Port) bool { return p.ExternalIDs[routerKey] == row.Name && slices.Contains(s.Ports, p.UUID) })
			if onRouter && s.ExternalIDs[routerKey] == "" {
				r.networks[row.Name] = append(r.networks[row.Name], s)
			}
		}
	}
	return r, nil
}

// listGuests returns the ports of guests that are on the networks of a router, in the order of their names.
func (r balancerRows) listGuests(router string) []Port {
	networks := map[string]Switch{}
	for _, s := range r.networks[router] {
		networks[s.Name] = s
	}
	return listGuests(r.guests, networks, slices.Collect(maps.Keys(networks)))
}

// isOn says whether the load balancer is on a router and all of its networks, and nowhere else.
func (r balancerRows) isOn(router string) bool {
	is := func(balancers []string) bool { return slices.Contains(balancers, r.balancer.UUID) }
	for name, row := range r.routers {
		if is(row.Balancers) != (name == router) {
			return false
		}
	}
	return !slices.ContainsFunc(r.switches, func(s Switch) bool {
		wanted := slices.ContainsFunc(r.networks[router], func(n Switch) bool { return n.UUID == s.UUID })
		return is(s.Balancers) != wanted
	})
}

// Look implements Thing. One that is not on all of its router's networks reads as one without a router.
func (t balancerThing) Look(ctx context.Context, n *Northbound) (LoadBalancer, map[string]string, error) {
	r, err := t.findRows(ctx, n)
	if err != nil || r.balancer == nil {
		return LoadBalancer{}, nil, err
	}
	got := LoadBalancer{Name: t.name, Protocol: "tcp", VIPs: map[string][]string{}}
	if r.balancer.Protocol != nil {
		got.Protocol = *r.balancer.Protocol
	}
	for vip, backends := range r.balancer.VIPs {
		got.VIPs[vip] = splitBackends(backends)
	}
	for name := range r.routers {
		if r.isOn(name) {
			got.Router = name
		}
	}
	got.HealthCheck = r.readHealthCheck(got)
	ids := r.balancer.ExternalIDs
	if ids == nil {
		ids = map[string]string{}
	}
	return got, ids, nil
}

// Put implements Thing.
func (t balancerThing) Put(ctx context.Context, n *Northbound, want LoadBalancer, mark string) ([]ovsdb.Operation, error) {
	r, err := t.findRows(ctx, n)
	if err != nil {
		return nil, err
	}
	router, there := r.routers[want.Router]
	if !there {
		return nil, service.At([]any{"router"}, fmt.Errorf("there is no router %q in %s", want.Router, n))
	}
	if err := r.checkAddresses(want, Planned{}); err != nil {
		return nil, err
	}
	vips, checks := map[string]string{}, want.listChecks()
	for vip, backends := range want.VIPs {
		vips[vip] = strings.Join(backends, ",")
	}
	columns := map[string]any{"vips": pairs(vips), "protocol": texts(want.Protocol), "ip_port_mappings": pairs(want.HealthCheck.listAskers(r.listGuests(want.Router), want.VIPs))}
	ids := map[string]string{markKey: mark, sourceKey: want.HealthCheck.formatSource()}
	uuid, guard := "balancer", unlessNamed(NorthDB, &Balancer{}, "name", t.name)
	var operations []ovsdb.Operation
	if b := r.balancer; b == nil {
		columns["name"], columns[externalIDs], columns["health_check"] = t.name, pairs(withoutEmpty(ids)), childNames("health_check", checks)
		operations = append(operations, putChildren(&HealthCheckRow{}, &Balancer{}, "", "health_check", nil, checks)...)
		operations = append(operations, insert(NorthDB, &Balancer{}, uuid, columns))
	} else {
		uuid, guard = b.UUID, whileOwned(NorthDB, b, b.UUID, b.ExternalIDs)
		if !hasColumns(b, columns) {
			operations = append(operations, update(NorthDB, b, uuid, columns))
		}
		if changes := putKeys(externalIDs, b.ExternalIDs, ids); len(changes) > 0 {
			operations = append(operations, mutate(NorthDB, b, uuid, changes...))
		}
		operations = append(operations, putChildren(&HealthCheckRow{}, &Balancer{}, uuid, "health_check", keyRows(r.checks, func(c *HealthCheckRow) string { return c.VIP }), checks)...)
	}
	operations = append(operations, r.putOn(uuid, router, r.networks[want.Router])...)
	if len(operations) == 0 {
		return nil, nil
	}
	return append([]ovsdb.Operation{guard}, operations...), nil
}

// putOn has a router and networks, and no others, have the load balancer.
func (r balancerRows) putOn(uuid string, router RouterRow, networks []Switch) (operations []ovsdb.Operation) {
	put := func(row any, rowUUID string, has []string, wanted bool) {
		mutator := ovsdb.MutateOperationInsert
		if !wanted {
			mutator = ovsdb.MutateOperationDelete
		}
		if slices.Contains(has, uuid) != wanted {
			operations = append(operations, mutate(NorthDB, row, rowUUID, *ovsdb.NewMutation("load_balancer", mutator, references(uuid))))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.routers)) {
		row := r.routers[name]
		put(&row, row.UUID, row.Balancers, row.UUID == router.UUID)
	}
	for _, s := range r.switches {
		put(&s, s.UUID, s.Balancers, slices.ContainsFunc(networks, func(n Switch) bool { return n.UUID == s.UUID }))
	}
	return operations
}

// Drop implements Thing.
func (t balancerThing) Drop(ctx context.Context, n *Northbound) ([]ovsdb.Operation, error) {
	r, err := t.findRows(ctx, n)
	if err != nil || r.balancer == nil {
		return nil, err
	}
	b := r.balancer
	operations := []ovsdb.Operation{whileOwned(NorthDB, b, b.UUID, b.ExternalIDs)}
	operations = append(operations, r.putOn(b.UUID, RouterRow{}, nil)...)
	return append(operations, remove(NorthDB, b, b.UUID)), nil
}
