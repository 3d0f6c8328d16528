package vip

import (
	"context"
	"maps"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/vip"
)

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
