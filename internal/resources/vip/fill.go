package vip

import (
	"context"
	"slices"
	"strconv"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/keepalived"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/vip"
)

var (
	memberType = types.ObjectType{AttrTypes: map[string]attr.Type{
		"service_node": types.StringType, "interface": types.StringType, "address": types.StringType, "priority": types.Int64Type, "state": types.StringType,
	}}
	trackType = types.ObjectType{AttrTypes: map[string]attr.Type{
		"name": types.StringType, "script": types.StringType, "script_content": types.StringType, "interface": types.StringType, "process": types.StringType, "interval": types.Int64Type,
		"timeout": types.Int64Type, "weight": types.Int64Type, "rise": types.Int64Type, "fall": types.Int64Type, "user": types.StringType,
	}}
)

func (m *model) fillModel(ctx context.Context, got vip.Object) diag.Diagnostics {
	var diags diag.Diagnostics
	m.Name, m.RouterID, m.Version = types.StringValue(got.Name), types.Int64Value(int64(got.RouterID)), types.Int64Value(int64(got.Version))
	m.AdvertInt, m.Unicast, m.Preempt = types.Float64Value(got.AdvertInterval), types.BoolValue(got.Unicast), types.BoolValue(got.Preempt)
	m.PreemptDelay, m.SyncGroup = types.Int64Value(int64(got.PreemptDelay)), convert.Text(got.SyncGroup)
	m.fillPassword(got)
	m.Addresses = convert.SpellList(got.Addresses)
	m.fillMembers(ctx, got, &diags)
	m.fillTrack(ctx, got, &diags)
	m.fillGARP(got, &diags)
	for _, reason := range got.Unreachable {
		diags.AddWarning("A member of VIP "+got.Name+" cannot be reached", reason+"\n\nWhat was known of it stays in the state. A change fails until it answers again, or until it is removed from members.")
	}
	for _, reason := range got.Left {
		diags.AddWarning("A removed member of VIP "+got.Name+" cannot be reached", reason+"\n\nIts keepalived was not told and, as soon as the machine runs again, takes the addresses as well. "+
			"Before you connect it again, remove vrrp_instance "+got.Name+" from "+keepalived.Path+" there.")
	}
	return diags
}

// fillPassword keeps a write-only password out of the state: members that do not have the same one show as a
// version that has to be put in place again. An import learns of one by the mark on the machines.
func (m *model) fillPassword(got vip.Object) {
	m.AuthPassWO = types.StringNull()
	if version, err := strconv.ParseInt(got.PasswordVersion, 10, 64); err == nil && m.AuthPassWOVersion.IsNull() && m.AuthPass.IsNull() {
		m.AuthPassWOVersion = types.Int64Value(version) // an import
	}
	if m.AuthPassWOVersion.IsNull() {
		m.AuthPass = convert.Text(got.AuthPass)
	} else if got.PasswordsDiffer || got.AuthPass == "" {
		m.AuthPassWOVersion = types.Int64Null()
	}
}

func (m *model) fillMembers(ctx context.Context, got vip.Object, diags *diag.Diagnostics) {
	names, known := m.listNames(ctx), m.readInstances(ctx)
	instances := map[string]member{}
	for _, g := range got.Members {
		t := member{ServiceNode: types.StringValue(g.ID), Interface: types.StringValue(g.Interface), Priority: types.Int64Value(int64(g.Priority)), State: types.StringValue(g.State)}
		if g.Address.IsValid() {
			t.Address = types.StringValue(g.Address.String())
		}
		name, named := names[g.ID]
		if !named { // to be removed, and not yet: the name of a member that was there may be another one's by now
			name = g.ID
		}
		instances[name] = t
	}
	if m.Members.IsNull() {
		m.Members = writeMembers(instances) // an import
	}
	if m.Assigned == nil || got.Changed {
		m.Assigned = listPriorities(known)
	}
	if len(m.Assigned) == 0 {
		m.Assigned = listPriorities(instances)
	}
	if !got.Changed || m.Owner.IsUnknown() {
		m.Owner = convert.Text(names[got.Owner])
	}
	value, d := types.MapValueFrom(ctx, memberType, instances)
	diags.Append(d...)
	m.Instances = value
}

// listNames returns the members' names by the ids of their service nodes.
func (m *model) listNames(ctx context.Context) map[string]string {
	names := map[string]string{}
	members := m.completeMembers(ctx)
	for _, t := range members {
		names[t.ServiceNode.ValueString()] = t.Name
	}
	if len(members) == 0 {
		imported, _, _ := keepalived.SplitID(m.ID.ValueString())
		for _, i := range imported {
			names[i.ID] = i.Name
		}
	}
	return names
}

// listPriorities returns the priorities of instances, but those of machines whose keepalived does not run.
func listPriorities(instances map[string]member) map[string]int64 {
	all := map[string]int64{}
	for name, m := range instances {
		if p := m.Priority.ValueInt64(); p != vip.Stopped {
			all[name] = p
		}
	}
	return all
}

func (m *model) fillTrack(ctx context.Context, got vip.Object, diags *diag.Diagnostics) {
	known := readElements[track](ctx, m.Track, diags)
	if len(got.Track) == 0 && len(known) == 0 {
		if m.Track.IsUnknown() {
			m.Track = types.ListNull(trackType)
		}
		return
	}
	tracks := make([]track, 0, len(got.Track))
	for _, g := range got.Track {
		t := track{
			Name: types.StringValue(g.Name), Script: convert.Text(g.Script), Content: convert.Text(g.Content), Interface: convert.Text(g.Interface), Process: convert.Text(g.Process), Weight: types.Int64Value(int64(g.Weight)),
			Interval: types.Int64Value(1), Rise: types.Int64Value(1), Fall: types.Int64Value(1), User: types.StringValue("root"),
		}
		i := slices.IndexFunc(known, func(k track) bool { return k.Name.ValueString() == g.Name })
		if g.Script != "" || g.Content != "" {
			t.Interval, t.Rise, t.Fall = types.Int64Value(int64(g.Interval)), types.Int64Value(int64(g.Rise)), types.Int64Value(int64(g.Fall))
			t.User = types.StringValue(g.User)
			if g.Timeout != 0 {
				t.Timeout = types.Int64Value(int64(g.Timeout))
			}
		} else if i >= 0 {
			t.Interval, t.Timeout, t.Rise, t.Fall, t.User = known[i].Interval, known[i].Timeout, known[i].Rise, known[i].Fall, known[i].User
		}
		tracks = append(tracks, t)
	}
	list, d := types.ListValueFrom(ctx, trackType, tracks)
	diags.Append(d...)
	m.Track = list
}

func (m *model) fillGARP(got vip.Object, diags *diag.Diagnostics) {
	attributes := map[string]attr.Type{}
	values := map[string]attr.Value{}
	for _, key := range keepalived.GARPKeys {
		attributes[key], values[key] = types.Int64Type, types.Int64Null()
		if n, ok := got.GARP["garp_"+key]; ok {
			values[key] = types.Int64Value(int64(n))
		}
	}
	if len(got.GARP) == 0 && !convert.Known(m.GARP) {
		m.GARP = types.ObjectNull(attributes)
		return
	}
	object, d := types.ObjectValue(attributes, values)
	diags.Append(d...)
	m.GARP = object
}
