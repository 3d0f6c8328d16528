package ovn

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ovn-kubernetes/libovsdb/ovsdb"
)

// Binding is a port that a chassis has, of some type: "" is that of a guest (ovn-sb(5), Port_Binding).
type Binding struct{ Port, Type string }

// redirect is the type of the port by which a router leads out over one chassis.
const redirect = "chassisredirect"

// IsGateway says whether the port is that by which a router leads out.
func (b Binding) IsGateway() bool { return b.Type == redirect }

// ListBound returns the ports that a chassis has, by its id, in the order of their names. They are asked for once: there are as many as there are guests.
func (n *Northbound) ListBound(ctx context.Context, id string) (bound []Binding, err error) {
	chassis, err := Row(ctx, n.South, func(c *ChassisRow) bool { return c.Name == id })
	if err != nil || chassis == nil {
		return nil, err
	}
	rows, err := n.South.selectRows(ctx, "Port_Binding", []ovsdb.Condition{ovsdb.NewCondition("chassis", ovsdb.ConditionEqual, ovsdb.UUID{GoUUID: chassis.UUID})}, "logical_port", "type")
	if err != nil {
		return nil, err
	}
	for _, row := range rows {
		b := Binding{}
		b.Port, _ = row["logical_port"].(string)
		b.Type, _ = row["type"].(string)
		bound = append(bound, b)
	}
	slices.SortFunc(bound, func(a, b Binding) int { return strings.Compare(a.Port, b.Port) })
	return bound, nil
}

// DescribePort names a port with its network, as far as there is one.
func (n *Northbound) DescribePort(ctx context.Context, name string) string {
	port := Port{Name: name}
	if found, err := Find(ctx, n.North, &port); err != nil || !found {
		return name
	}
	s, err := Row(ctx, n.North, func(s *Switch) bool { return slices.Contains(s.Ports, port.UUID) })
	if err != nil || s == nil {
		return name
	}
	return fmt.Sprintf("%s of network %q", name, s.Name)
}

// GatewayError says that nobody stands in for a chassis.
type GatewayError struct{ What, Way string }

func (e *GatewayError) Error() string { return e.What + ": " + e.Way }

// handOverLimit is how long another chassis may take to be the way out: it does as soon as it has the change.
const handOverLimit = 20 * time.Second

// CheckHandOver says why a chassis, by its id, cannot hand over to others what leads out by it, of which some leave too: a *GatewayError.
func (n *Northbound) CheckHandOver(ctx context.Context, id string, leaving []string) error {
	_, err := n.planHandOver(ctx, id, leaving)
	return err
}

// HandOver has routers that lead out by a chassis do so by the others that they name, in the order in which they do, and returns once they do. Groups of
// chassis of somebody else are not changed.
func (n *Northbound) HandOver(ctx context.Context, id string, leaving []string) error {
	err := n.Commit(ctx, func(ctx context.Context) ([]ovsdb.Operation, error) { return n.planHandOver(ctx, id, leaving) })
	if err != nil && !isLag(err) {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, handOverLimit)
	defer cancel()
	for {
		bound, err := n.ListBound(ctx, id)
		if err != nil {
			return err
		}
		at := slices.IndexFunc(bound, Binding.IsGateway)
		if at < 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("no other chassis takes over %s within %s: look whether ovn-controller runs on those that the router names", bound[at].Port, handOverLimit)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// planHandOver gives a chassis the last place in each group of chassis that it is in.
func (n *Northbound) planHandOver(ctx context.Context, id string, leaving []string) (operations []ovsdb.Operation, err error) {
	groups, err := Rows(ctx, n.North, All[ChassisGroup])
	if err != nil {
		return nil, err
	}
	members, err := Rows(ctx, n.North, All[GroupMember])
	if err != nil {
		return nil, err
	}
	stays, err := n.Followers(ctx)
	if err != nil {
		return nil, err
	}
	maps.DeleteFunc(stays, func(other string, _ Follower) bool { return other == id || slices.Contains(leaving, other) })
	return handOver(groups, members, id, stays)
}

// handOver is planHandOver by rows; stays are the chassis that another one can hand over to.
func handOver(groups []ChassisGroup, members []GroupMember, id string, stays map[string]Follower) (operations []ovsdb.Operation, err error) {
	slices.SortFunc(groups, func(a, b ChassisGroup) int { return strings.Compare(a.Name, b.Name) })
	for _, g := range groups {
		in := slices.DeleteFunc(slices.Clone(members), func(m GroupMember) bool { return !slices.Contains(g.Members, m.UUID) })
		at := slices.IndexFunc(in, func(m GroupMember) bool { return m.Chassis == id })
		router := g.ExternalIDs[routerKey]
		switch {
		case at < 0:
		case router == "":
			return nil, &GatewayError{fmt.Sprintf("the chassis is in the group %q of chassis, which is somebody else's", g.Name), fmt.Sprintf("take it out by `ovn-nbctl ha-chassis-group-remove-chassis %s %s`", g.Name, id)}
		case !slices.ContainsFunc(in, func(m GroupMember) bool { _, is := stays[m.Chassis]; return is }):
			alone := "this chassis alone"
			if len(in) > 1 {
				alone = "chassis alone that leave or are gone"
			}
			return nil, &GatewayError{fmt.Sprintf("router %q leads out by %s", router, alone), "write another one into its `external.chassis` first"}
		case in[at].Priority != 0:
			operations = append(operations, update(NorthDB, &in[at], in[at].UUID, map[string]any{"priority": 0}))
		}
	}
	return operations, nil
}
