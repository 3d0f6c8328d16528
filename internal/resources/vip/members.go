package vip

import (
	"context"
	"maps"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/vip"
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

// planInstances plans what each member will be: as it is written, and where it is not, as it was.
func planInstances(ctx context.Context, written []member, state *model, diags *diag.Diagnostics) types.Map {
	before := formerMembers{}
	if state != nil {
		before = formerMembers{instances: state.readInstances(ctx), assigned: state.Assigned}
	}
	priorities := before.planPriorities(written)
	all := map[string]member{}
	for i, m := range written {
		m.Priority = priorities[i]
		was, _ := before.findMember(m)
		if m.State.IsNull() {
			m.State = types.StringValue("BACKUP")
		}
		if m.Address.IsNull() {
			m.Address = types.StringUnknown() // the machine has one, and may have had another one when the state was made
		}
		if !was.Address.IsNull() && (m.Address.IsUnknown() && m.Interface.Equal(was.Interface) || sameAddress(m.Address, was.Address)) && m.ServiceNode.Equal(was.ServiceNode) {
			m.Address = was.Address
		}
		all[m.Name] = m
	}
	value, d := types.MapValueFrom(ctx, memberType, all)
	diags.Append(d...)
	return value
}

// formerMembers is what the members were before a change.
type formerMembers struct {
	instances map[string]member
	// assigned are the priorities that were planned the last time, whatever the machines have by now.
	assigned map[string]int64
}

// findMember returns what a member was, and its name then: that of the same service node, or else of the same name.
func (e formerMembers) findMember(m member) (member, string) {
	for called, was := range e.instances {
		if !m.ServiceNode.IsUnknown() && was.ServiceNode.Equal(m.ServiceNode) {
			return was, called
		}
	}
	return e.instances[m.Name], m.Name
}

// firstPriority and priorityStep make the default priorities: high ones take over quickly.
const firstPriority, priorityStep = 250, 10

// planPriorities returns the priorities of the members: as written, or by default what each had before, whoever comes and goes, and for a
// newcomer less than all that are there.
func (e formerMembers) planPriorities(written []member) []types.Int64 {
	all := make([]types.Int64, 0, len(written))
	lowest := int64(firstPriority + priorityStep)
	for _, m := range written {
		p := m.Priority
		_, called := e.findMember(m)
		kept, there := e.keptPriority(called)
		if there && p.IsNull() {
			p = types.Int64Value(kept)
		}
		if there && convert.Known(p) {
			lowest = min(lowest, p.ValueInt64())
		}
		all = append(all, p)
	}
	for i, p := range all {
		switch {
		case !p.IsNull():
		case len(e.instances) == 0:
			all[i] = types.Int64Value(int64(max(firstPriority-i*priorityStep, priorityStep)))
		default:
			lowest = max(lowest-priorityStep, priorityStep)
			all[i] = types.Int64Value(lowest)
		}
	}
	return all
}

// keptPriority returns the priority that a member had by default.
func (e formerMembers) keptPriority(name string) (int64, bool) {
	if p, there := e.assigned[name]; there {
		return p, true
	}
	was, there := e.instances[name]
	return was.Priority.ValueInt64(), there && was.Priority.ValueInt64() != vip.Stopped
}

// sameInstances says whether two planned or known sets of instances mean the same, whatever the members are called.
func sameInstances(a, b map[string]member) bool {
	if len(a) != len(b) {
		return false
	}
	for _, m := range a {
		if !slices.ContainsFunc(slices.Collect(maps.Values(b)), m.isSame) {
			return false
		}
	}
	return true
}

func (m member) isSame(o member) bool {
	return m.ServiceNode.Equal(o.ServiceNode) && m.Interface.Equal(o.Interface) && (m.Address.Equal(o.Address) || sameAddress(m.Address, o.Address)) &&
		m.Priority.Equal(o.Priority) && m.State.Equal(o.State)
}
