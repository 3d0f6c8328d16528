package ovn

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/ovn-kubernetes/libovsdb/ovsdb"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// Keys of external_ids of a port.
const (
	machineKey = "virtcluster-machine" // the UUID of its machine's domain
	asksKey    = "virtcluster-dhcp"    // its guest asks DHCP
)

// portThing is a port of a machine by its name.
type portThing struct{ name string }

// NewPort returns the port of a name.
func NewPort(name string) Thing[GuestPort] { return portThing{name} }

func (portThing) Noun() string   { return "OVN port" }
func (t portThing) Name() string { return t.name }

// portRows are the rows of a port; what is not there is nil.
type portRows struct {
	port *Port
	// on is the switch that the port is on.
	on *Switch
	// groups are the security groups by name, and in those that the port is in.
	groups map[string]PortGroup
	in     []string
}

func (t portThing) findRows(ctx context.Context, n *Northbound) (r portRows, err error) {
	groups, err := Rows(ctx, n.North, func(g *PortGroup) bool { return owner.Parse(g.ExternalIDs[markKey]).ID != "" })
	if err != nil {
		return r, err
	}
	r.groups = map[string]PortGroup{}
	for _, g := range groups {
		r.groups[g.Name] = g
	}
	row := &Port{Name: t.name}
	there, err := Find(ctx, n.North, row)
	if err != nil || !there {
		return r, err
	}
	r.port = row
	for _, name := range slices.Sorted(maps.Keys(r.groups)) {
		if slices.Contains(r.groups[name].Ports, row.UUID) {
			r.in = append(r.in, name)
		}
	}
	named := row.ExternalIDs[networkKey]
	if r.on, err = Row(ctx, n.North, func(s *Switch) bool { return s.Name == named && slices.Contains(s.Ports, row.UUID) }); err == nil && r.on == nil {
		r.on, err = Row(ctx, n.North, func(s *Switch) bool { return slices.Contains(s.Ports, row.UUID) })
	}
	return r, err
}

// Look implements Thing.
func (t portThing) Look(ctx context.Context, n *Northbound) (GuestPort, map[string]string, error) {
	r, err := t.findRows(ctx, n)
	if err != nil || r.port == nil || r.on == nil {
		return GuestPort{}, nil, err
	}
	ids := r.port.ExternalIDs
	if ids == nil {
		ids = map[string]string{}
	}
	got := GuestPort{Name: t.name, Machine: ids[machineKey], Network: r.on.Name, Groups: r.in}
	got.readRow(r.port)
	got.hideSLAAC(ipv6Of(r.on))
	return got, ids, nil
}

// Put implements Thing. The error is a *service.AttributeError of an interface where the network cannot have the port.
func (t portThing) Put(ctx context.Context, n *Northbound, want GuestPort, mark string) ([]ovsdb.Operation, error) {
	on, err := networkThing{want.Network}.findRows(ctx, n)
	if err != nil {
		return nil, err
	}
	if problems := want.checkOn(n, on); len(problems) > 0 {
		return nil, problems[0]
	}
	r, err := t.findRows(ctx, n)
	if err != nil {
		return nil, err
	}
	groups, err := r.changeGroups(n, want.Groups)
	if err != nil {
		return nil, err
	}
	columns := want.formatColumns(on.readNetwork())
	columns["dhcpv4_options"] = references()
	if on.dhcp != nil && want.DHCP {
		columns["dhcpv4_options"] = references(on.dhcp.UUID)
	}
	ids := map[string]string{markKey: mark, machineKey: want.Machine, networkKey: want.Network, asksKey: ""}
	if want.DHCP {
		ids[asksKey] = "yes"
	}
	operations := []ovsdb.Operation{whileSame(NorthDB, on.network, on.network.UUID, "name", want.Network)}
	join := func(uuid string) ovsdb.Operation {
		return mutate(NorthDB, on.network, on.network.UUID, *ovsdb.NewMutation("ports", ovsdb.MutateOperationInsert, references(uuid)))
	}
	if r.port == nil {
		columns["name"], columns["options"], columns[externalIDs] = t.name, pairs(withoutEmpty(want.formatOptions())), pairs(withoutEmpty(ids))
		return append(append(operations, unlessNamed(NorthDB, &Port{}, "name", t.name), insert(NorthDB, &Port{}, "port", columns), join("port")), groups...), nil
	}
	changed := false
	operations = append(operations, whileOwned(NorthDB, r.port, r.port.UUID, r.port.ExternalIDs))
	if !hasColumns(r.port, columns) {
		changed = true
		operations = append(operations, update(NorthDB, r.port, r.port.UUID, columns))
	}
	if keys := append(putKeys("options", r.port.Options, want.formatOptions()), putKeys(externalIDs, r.port.ExternalIDs, ids)...); len(keys) > 0 {
		changed = true
		operations = append(operations, mutate(NorthDB, r.port, r.port.UUID, keys...))
	}
	if r.on == nil || r.on.UUID != on.network.UUID {
		changed = true
		if r.on != nil {
			operations = append(operations, leaveSwitch(r))
		}
		operations = append(operations, join(r.port.UUID))
	}
	if !changed && len(groups) == 0 {
		return nil, nil
	}
	return append(operations, groups...), nil
}

// changeGroups puts the port, which may be one that is about to be made, into the security groups that are wanted, and takes it out of the
// others.
func (r portRows) changeGroups(n *Northbound, want []string) (operations []ovsdb.Operation, err error) {
	uuid := "port"
	if r.port != nil {
		uuid = r.port.UUID
	}
	change := func(name string, how ovsdb.Mutator) {
		g := r.groups[name]
		operations = append(operations, whileSame(NorthDB, &g, g.UUID, "name", name), mutate(NorthDB, &g, g.UUID, *ovsdb.NewMutation("ports", how, references(uuid))))
	}
	for _, name := range want {
		if _, there := r.groups[name]; !there {
			return nil, &service.AttributeError{Path: []any{"security_groups"}, Err: fmt.Errorf("%s has no security group %q: make it with virtcluster_ovn_security_group, and refer to that resource's name", n, name)}
		}
		if !slices.Contains(r.in, name) {
			change(name, ovsdb.MutateOperationInsert)
		}
	}
	for _, name := range r.in {
		if !slices.Contains(want, name) {
			change(name, ovsdb.MutateOperationDelete)
		}
	}
	return operations, nil
}

// leaveSwitch takes a port off its switch: nothing else keeps its row.
func leaveSwitch(r portRows) ovsdb.Operation {
	return mutate(NorthDB, r.on, r.on.UUID, *ovsdb.NewMutation("ports", ovsdb.MutateOperationDelete, references(r.port.UUID)))
}

// Drop implements Thing.
func (t portThing) Drop(ctx context.Context, n *Northbound) ([]ovsdb.Operation, error) {
	r, err := t.findRows(ctx, n)
	if err != nil || r.port == nil || r.on == nil {
		return nil, err
	}
	return []ovsdb.Operation{whileOwned(NorthDB, r.port, r.port.UUID, r.port.ExternalIDs), leaveSwitch(r)}, nil
}
