package ovn

import (
	"context"
	"slices"

	"github.com/ovn-kubernetes/libovsdb/ovsdb"
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
}

func (t portThing) findRows(ctx context.Context, n *Northbound) (r portRows, err error) {
	row := &Port{Name: t.name}
	there, err := Find(ctx, n.North, row)
	if err != nil || !there {
		return r, err
	}
	r.port = row
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
	got := GuestPort{Name: t.name, Machine: ids[machineKey], Network: r.on.Name}
	got.readRow(r.port)
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
		return append(operations, unlessNamed(NorthDB, &Port{}, "name", t.name), insert(NorthDB, &Port{}, "port", columns), join("port")), nil
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
	if !changed {
		return nil, nil
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
