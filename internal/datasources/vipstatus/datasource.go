// Package vipstatus is the data source virtcluster_vip_status: what the members of a VIP say of it now.
package vipstatus

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/fleet"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/keepalived"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values/computed"
)

// New makes the data source.
func New() datasource.DataSource {
	return crud.NewSource(crud.Source[model]{Name: "vip_status", Schema: statusSchema(), Read: readStatus})
}

type model struct {
	VIP     types.String `tfsdk:"vip"`
	Name    types.String `tfsdk:"name"`
	Owner   types.String `tfsdk:"owner"`
	Members []member     `tfsdk:"members"`
}

type member struct {
	Name              types.String   `tfsdk:"name"`
	ServiceNode       types.String   `tfsdk:"service_node"`
	Reachable         types.Bool     `tfsdk:"reachable"`
	Error             types.String   `tfsdk:"error"`
	State             types.String   `tfsdk:"state"`
	Priority          types.Int64    `tfsdk:"priority"`
	EffectivePriority types.Int64    `tfsdk:"effective_priority"`
	LastTransition    types.String   `tfsdk:"last_transition"`
	HeldAddresses     []types.String `tfsdk:"held_addresses"`
}

func statusSchema() schema.Schema {
	return schema.Schema{
		MarkdownDescription: "What the members of a virtual address say of it now: who holds it, and each member's state and priority. A member that cannot be reached is told as such and is no error.",
		Attributes: map[string]schema.Attribute{
			"vip":   schema.StringAttribute{Validators: []validator.String{values.Line}, Required: true, MarkdownDescription: "`id` of a `virtcluster_vip` of this configuration, or what an import takes for one: `MEMBER=SERVICE_NODE,MEMBER=SERVICE_NODE#NAME`."},
			"name":  computed.Text("Name of the VRRP instance."),
			"owner": computed.Text("Name of the one member that holds the addresses; null when none does, or more than one."),
			"members": computed.ListOf("The members in the order of their names.", computed.Attributes{
				"name":               computed.Text("The member's name, as in the VIP's `owner`."),
				"service_node":       computed.Text("The member's service node."),
				"reachable":          computed.Flag("Whether the machine answered."),
				"error":              computed.Text("Why it did not answer, or why its keepalived did not; null when all is well."),
				"state":              computed.Text("`MASTER`, `BACKUP`, `FAULT` or `INIT` as keepalived says; null when it does not run or does not know the instance."),
				"priority":           computed.Number("Configured priority."),
				"effective_priority": computed.Number("Priority with what the member tracks."),
				"last_transition":    computed.Text("When the state last changed, in RFC 3339 and UTC."),
				"held_addresses":     computed.Texts("The virtual addresses that the machine has on its devices now."),
			}),
		},
	}
}

// readLimit bounds how long a dead member is waited for.
const readLimit = 30 * time.Second

func readStatus(ctx context.Context, p crud.ProviderData, m *model) (diags diag.Diagnostics) {
	f := p.Fleet
	vips, name, err := membersOf(p, m.VIP.ValueString())
	if err != nil {
		diags.AddAttributeError(path.Root("vip"), "Invalid id of a VIP", err.Error())
		return diags
	}
	ctx, cancel := context.WithTimeout(ctx, readLimit)
	defer cancel()
	m.Name, m.Owner, m.Members = types.StringValue(name), types.StringNull(), make([]member, len(vips))
	var wait sync.WaitGroup
	titles := keepalived.Titles(vips)
	for i, v := range vips {
		wait.Go(func() {
			m.Members[i] = askMember(ctx, f, v.ID, name)
			m.Members[i].Name = types.StringValue(titles[i])
		})
	}
	wait.Wait()
	holds := func(t member) bool { return len(t.HeldAddresses) > 0 }
	if i := slices.IndexFunc(m.Members, holds); i >= 0 && !slices.ContainsFunc(m.Members[i+1:], holds) {
		m.Owner = m.Members[i].Name
	}
	return diags
}

// membersOf finds the members of a VIP: of one that this run knows, or those that an import's id names.
func membersOf(p crud.ProviderData, id string) (members []keepalived.Member, name string, err error) {
	if known, seen := p.Run.VIPs.Load(id); seen {
		_, name, _ = strings.Cut(id, "#")
		return known.([]keepalived.Member), name, nil
	}
	return keepalived.SplitID(id)
}

// askMember asks one member.
func askMember(ctx context.Context, f *fleet.Fleet, id, name string) member {
	m := member{ServiceNode: types.StringValue(id), Reachable: types.BoolValue(false), HeldAddresses: []types.String{}}
	h, err := f.Host(ctx, id)
	if err != nil {
		m.Error = types.StringValue(err.Error())
		return m
	}
	links, err := keepalived.ReadLinks(ctx, h)
	if err != nil {
		m.Error = types.StringValue(err.Error())
		return m
	}
	m.Reachable = types.BoolValue(true)
	served, err := keepalived.Dump(ctx, h)
	if err != nil {
		m.Error = types.StringValue(err.Error())
		return m
	}
	i := slices.IndexFunc(served, func(s keepalived.Status) bool { return s.Name == name })
	if i < 0 {
		m.Error = types.StringValue(fmt.Sprintf("keepalived on %s has no VRRP instance %s", h, name))
		return m
	}
	s := served[i]
	m.State, m.Priority, m.EffectivePriority = types.StringValue(s.State), types.Int64Value(int64(s.Priority)), types.Int64Value(int64(s.Effective))
	if !s.LastTransition.IsZero() {
		m.LastTransition = types.StringValue(s.LastTransition.Format(time.RFC3339))
	}
	for _, a := range links.Held(s.Addresses) {
		m.HeldAddresses = append(m.HeldAddresses, types.StringValue(a.String()))
	}
	return m
}
