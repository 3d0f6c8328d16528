package vip

import (
	"context"
	"maps"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
)

// member is one of `members` as it is written, or one of `instances`: written with all that was left out.
type member struct {
	// Name is its key.
	Name        string       `tfsdk:"-"`
	ServiceNode types.String `tfsdk:"service_node"`
	Interface   types.String `tfsdk:"interface"`
	Address     types.String `tfsdk:"address"`
	Priority    types.Int64  `tfsdk:"priority"`
	State       types.String `tfsdk:"state"`
}

// readMembers returns the members as they are written, in the order of their names. A map that is not known has none.
func readMembers(m types.Map) []member {
	elements := m.Elements()
	all := make([]member, 0, len(elements))
	for _, name := range slices.Sorted(maps.Keys(elements)) {
		all = append(all, readMember(name, elements[name]))
	}
	return all
}

// readMember returns the member of a name. Of one that is not known yet no attribute is.
func readMember(name string, v attr.Value) member {
	if v.IsUnknown() {
		unknown := types.StringUnknown()
		return member{Name: name, ServiceNode: unknown, Interface: unknown, Address: unknown, Priority: types.Int64Unknown(), State: unknown}
	}
	m := member{Name: name}
	object, isObject := v.(types.Object)
	if !isObject || object.IsNull() {
		return m
	}
	attributes := object.Attributes()
	m.ServiceNode, _ = attributes["service_node"].(types.String)
	m.Interface, _ = attributes["interface"].(types.String)
	m.Address, _ = attributes["address"].(types.String)
	m.Priority, _ = attributes["priority"].(types.Int64)
	m.State, _ = attributes["state"].(types.String)
	if convert.Known(m.ServiceNode) { // two references to one machine are one
		m.ServiceNode = types.StringValue(host.ShortenReferences(m.ServiceNode.ValueString()))
	}
	return m
}

// writeMembers returns `members` with all its attributes, as an import makes it.
func writeMembers(members map[string]member) types.Map {
	objects := map[string]attr.Value{}
	for name, m := range members {
		objects[name] = m.toObject()
	}
	return types.MapValueMust(memberType, objects)
}

func (m member) toObject() types.Object {
	return types.ObjectValueMust(memberType.AttrTypes, map[string]attr.Value{
		"service_node": m.ServiceNode, "interface": m.Interface, "address": m.Address, "priority": m.Priority, "state": m.State,
	})
}

// readInstances returns the members by name, complete; nil where they are not known.
func (m *model) readInstances(ctx context.Context) map[string]member {
	if !convert.Known(m.Instances) {
		return nil
	}
	var all map[string]member
	if m.Instances.ElementsAs(ctx, &all, false).HasError() {
		return nil
	}
	return all
}

// completeMembers returns the members with what the instances say where the configuration says nothing, and behind them those that only
// the instances have: what a change that failed did not remove is there still.
func (m *model) completeMembers(ctx context.Context) []member {
	members, instances := readMembers(m.Members), m.readInstances(ctx)
	for i, t := range members {
		members[i].fillIn(instances[t.Name])
		if members[i].State.IsNull() {
			members[i].State = types.StringValue("BACKUP")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(instances)) {
		left := instances[name]
		if left.Name = name; len(members) > 0 && !slices.ContainsFunc(members, func(m member) bool { return m.Name == name || m.ServiceNode.Equal(left.ServiceNode) }) {
			members = append(members, left)
		}
	}
	return members
}

// fillIn takes from another what is not written.
func (m *member) fillIn(from member) {
	if m.Address.IsNull() && !from.Address.IsUnknown() {
		m.Address = from.Address
	}
	if m.Priority.IsNull() && !from.Priority.IsUnknown() {
		m.Priority = from.Priority
	}
	if m.State.IsNull() && !from.State.IsUnknown() {
		m.State = from.State
	}
}
