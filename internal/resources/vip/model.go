package vip

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/keepalived"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/vip"
)

type model struct {
	ID                types.String   `tfsdk:"id"`
	Name              types.String   `tfsdk:"name"`
	Addresses         types.List     `tfsdk:"addresses"`
	RouterID          types.Int64    `tfsdk:"virtual_router_id"`
	Version           types.Int64    `tfsdk:"version"`
	AdvertInt         types.Float64  `tfsdk:"advert_int"`
	AuthPass          types.String   `tfsdk:"auth_pass"`
	AuthPassWO        types.String   `tfsdk:"auth_pass_wo"`
	AuthPassWOVersion types.Int64    `tfsdk:"auth_pass_wo_version"`
	Unicast           types.Bool     `tfsdk:"unicast"`
	Preempt           types.Bool     `tfsdk:"preempt"`
	PreemptDelay      types.Int64    `tfsdk:"preempt_delay"`
	SyncGroup         types.String   `tfsdk:"sync_group"`
	Members           types.Map      `tfsdk:"members"`
	Instances         types.Map      `tfsdk:"instances"`
	Track             types.List     `tfsdk:"track"`
	GARP              types.Object   `tfsdk:"garp"`
	Owner             types.String   `tfsdk:"owner"`
	Timeouts          timeouts.Value `tfsdk:"timeouts"`
	// Assigned are the members' priorities as they were last planned: private state keeps them, so that a default stays what it
	// was, and a machine that has another one shows.
	Assigned map[string]int64 `tfsdk:"-"`
}

type track struct {
	Name      types.String `tfsdk:"name"`
	Script    types.String `tfsdk:"script"`
	Content   types.String `tfsdk:"script_content"`
	Interface types.String `tfsdk:"interface"`
	Process   types.String `tfsdk:"process"`
	Interval  types.Int64  `tfsdk:"interval"`
	Timeout   types.Int64  `tfsdk:"timeout"`
	Weight    types.Int64  `tfsdk:"weight"`
	Rise      types.Int64  `tfsdk:"rise"`
	Fall      types.Int64  `tfsdk:"fall"`
	User      types.String `tfsdk:"user"`
}

func (m *model) toSpec(ctx context.Context) (vip.Object, diag.Diagnostics) {
	var diags diag.Diagnostics
	v := keepalived.VIP{
		Name: m.Name.ValueString(), RouterID: int(m.RouterID.ValueInt64()), AdvertInterval: m.AdvertInt.ValueFloat64(),
		AuthPass: m.AuthPass.ValueString(), PreemptDelay: int(m.PreemptDelay.ValueInt64()), SyncGroup: m.SyncGroup.ValueString(),
		// What is not known yet counts as its default.
		Unicast: m.Unicast.IsUnknown() || m.Unicast.ValueBool(), Preempt: m.Preempt.IsUnknown() || m.Preempt.ValueBool(),
	}
	if !m.AuthPassWO.IsNull() {
		v.AuthPass = m.AuthPassWO.ValueString()
	}
	if convert.Known(m.AuthPassWOVersion) {
		v.PasswordVersion = fmt.Sprint(m.AuthPassWOVersion.ValueInt64())
	}
	v.Addresses = m.readAddresses(ctx, &diags)
	if v.Version = int(m.Version.ValueInt64()); v.Version == 0 {
		v.Version = defaultVersion(v.Addresses)
	}
	for i, t := range m.completeMembers(ctx) {
		v.Members = append(v.Members, keepalived.Member{
			Name: t.Name, ID: t.ServiceNode.ValueString(), Interface: t.Interface.ValueString(), Priority: int(t.Priority.ValueInt64()), State: t.State.ValueString(),
		})
		if convert.Known(t.Address) {
			v.Members[i].Address = parseAddress(t.Address.ValueString(), &diags, v.At(i, "address")...)
		}
	}
	for _, t := range readElements[track](ctx, m.Track, &diags) {
		v.Track = append(v.Track, t.toSpec())
	}
	if convert.Known(m.GARP) {
		v.GARP = map[string]int{}
		for key, value := range m.GARP.Attributes() {
			if n, ok := value.(types.Int64); ok && !n.IsNull() {
				v.GARP["garp_"+key] = int(n.ValueInt64())
			}
		}
	}
	return vip.Object{VIP: v}, diags
}

// toSpec takes only what the kind of check has: the rest has defaults that mean nothing.
func (t track) toSpec() keepalived.Track {
	s := keepalived.Track{
		Name: t.Name.ValueString(), Script: t.Script.ValueString(), Content: t.Content.ValueString(), Interface: t.Interface.ValueString(), Process: t.Process.ValueString(),
		Weight: int(t.Weight.ValueInt64()),
	}
	if s.Script != "" || s.Content != "" {
		s.Interval, s.Timeout, s.User = int(t.Interval.ValueInt64()), int(t.Timeout.ValueInt64()), t.User.ValueString()
		s.Rise, s.Fall = int(t.Rise.ValueInt64()), int(t.Fall.ValueInt64())
	}
	return s
}

func (m *model) readAddresses(ctx context.Context, diags *diag.Diagnostics) []netip.Prefix {
	var all []netip.Prefix
	for i, text := range readElements[types.String](ctx, m.Addresses, diags) {
		var p netip.Prefix
		if !text.IsUnknown() {
			p = parsePrefix(text.ValueString(), diags, "addresses", i)
		}
		all = append(all, p)
	}
	return all
}

// defaultVersion is the one that the first address's family needs.
func defaultVersion(addresses []netip.Prefix) int {
	if len(addresses) > 0 && addresses[0].IsValid() && addresses[0].Addr().Is6() {
		return 3
	}
	return 2
}

// readElements reads a list; a null or unknown one is empty.
func readElements[T any](ctx context.Context, l types.List, diags *diag.Diagnostics) []T {
	if !convert.Known(l) {
		return nil
	}
	var all []T
	diags.Append(l.ElementsAs(ctx, &all, false)...)
	return all
}

func parsePrefix(text string, diags *diag.Diagnostics, at ...any) netip.Prefix {
	p, err := netip.ParsePrefix(text)
	if err != nil {
		diags.Append(crud.Diagnostic("Invalid address", service.At(at, fmt.Errorf("write an address with its prefix length, such as \"10.0.0.250/24\", not %q", text))))
	}
	return p
}

func parseAddress(text string, diags *diag.Diagnostics, at ...any) netip.Addr {
	a, err := service.ParseAddress(text)
	if err != nil {
		diags.Append(crud.Diagnostic("Invalid address", service.At(at, fmt.Errorf("write an address such as \"10.0.0.101\", not %q", text))))
	}
	return a
}

// formatID names the VIP; an import's id, which has its members, until the first read.
func (m *model) formatID() string {
	var diags diag.Diagnostics
	addresses := m.readAddresses(context.Background(), &diags)
	if len(addresses) == 0 || !addresses[0].IsValid() {
		return m.ID.ValueString()
	}
	return keepalived.ID(addresses[0].Addr(), m.Name.ValueString())
}

// importID is what imports take: only the members know of the VIP.
func (m *model) importID() string {
	v, _ := m.toSpec(context.Background())
	if len(v.Members) == 0 {
		return m.ID.ValueString() // an import, before the first read
	}
	return keepalived.ImportID(v.Members, m.Name.ValueString())
}

// assignedKey is where private state keeps model.Assigned.
const assignedKey = "priorities"

func recallPrivate(ctx context.Context, private crud.PrivateState, m *model) diag.Diagnostics {
	content, diags := private.GetKey(ctx, assignedKey)
	if len(content) > 0 {
		if err := json.Unmarshal(content, &m.Assigned); err != nil {
			diags.AddError("Damaged state", "priorities: "+err.Error())
		}
	}
	return diags
}

func rememberAssigned(ctx context.Context, private crud.PrivateState, m *model) diag.Diagnostics {
	content, err := json.Marshal(m.Assigned)
	if err != nil || m.Assigned == nil {
		return nil
	}
	return private.SetKey(ctx, assignedKey, content)
}
