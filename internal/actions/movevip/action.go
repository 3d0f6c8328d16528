// Package movevip is the action virtcluster_move_vip: another member holds the addresses of a VIP.
package movevip

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/action"
	"github.com/hashicorp/terraform-plugin-framework/action/schema"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/keepalived"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
)

// memberName is what a member may be called.
var memberName = values.New("name of a member", "svc-1", keepalived.CheckMemberName)

// New makes the action.
func New() action.Action {
	return crud.NewAction(crud.Action[model]{
		Name: "move_vip", Check: checkTo, Do: moveVIP,
		Schema: schema.Schema{
			MarkdownDescription: "Has another member of a VIP hold its addresses, and waits until it does: before a machine is worked on, or to try the failover. By `terraform apply -invoke=action.virtcluster_move_vip.NAME`, or from an `action_trigger` of a resource. Terraform 1.14 and later. " +
				"Nothing of the configuration changes: keepalived reads the order from a file. The machine that held the addresses hands over **all** virtual addresses of this provider that it holds, and takes part again after 90 seconds; the other one is before all others for a quarter of an hour. " +
				"Then the priorities decide again, but with `preempt = false`, where the addresses stay. Where the member that is asked for holds them already, it is success. Only a VIP of this state is moved, and only where its members speak by unicast.",
			Attributes: map[string]schema.Attribute{
				"name": schema.StringAttribute{Required: true, Validators: []validator.String{values.Name}, MarkdownDescription: "The VIP: `virtcluster_vip.api.name`."},
				"members": schema.MapNestedAttribute{
					Required: true, Validators: []validator.Map{values.Objects().Keys(memberName).Some()}, MarkdownDescription: "Its members: `virtcluster_vip.api.members`.",
					NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
						"service_node": schema.StringAttribute{Required: true, Validators: []validator.String{values.Endpoint}, MarkdownDescription: "`id` of a `virtcluster_service_node`."},
					}},
				},
				"to": schema.StringAttribute{Optional: true, Validators: []validator.String{memberName}, MarkdownDescription: "Name of the member that is to hold the addresses. Default: of those that do not, the one that answers and has the highest priority."},
			},
		},
	})
}

type model struct {
	Name    types.String `tfsdk:"name"`
	Members types.Map    `tfsdk:"members"`
	To      types.String `tfsdk:"to"`
}

// vip is a model in plain values.
type vip struct {
	Name    string            `attr:"name"`
	Members map[string]member `attr:"members"`
	To      string            `attr:"to"`
}

type member struct {
	ServiceNode string `attr:"service_node"`
}

// checkTo refuses a member that the VIP does not have.
func checkTo(_ context.Context, _ crud.ProviderData, m *model) diag.Diagnostics {
	v, diags := convert.Plain[vip](m)
	if _, is := v.Members[v.To]; is || m.Members.IsUnknown() || !convert.Known(m.To) {
		return diags
	}
	diags.AddAttributeError(path.Root("to"), "No such member", fmt.Sprintf("%q is none of the members of the VIP", v.To))
	return diags
}

func moveVIP(ctx context.Context, p crud.ProviderData, m *model, report func(string)) diag.Diagnostics {
	v, diags := convert.Plain[vip](m)
	members := map[string]host.Host{}
	for name, member := range v.Members {
		h, err := p.Fleet.Host(ctx, member.ServiceNode)
		if err != nil {
			diags.AddAttributeError(path.Root("members").AtMapKey(name), "No such machine", err.Error())
			return diags
		}
		members[name] = h
	}
	from, to, err := p.Run.HandOvers.Move(ctx, v.Name, members, v.To)
	switch {
	case err != nil:
		diags.AddAttributeError(path.Root("name"), fmt.Sprintf("Cannot move VIP %q", v.Name), err.Error())
	case from == to:
		report(fmt.Sprintf("VIP %s: %s holds its addresses already", v.Name, to))
	default:
		report(fmt.Sprintf("VIP %s: %s holds its addresses, which %s handed over", v.Name, to, from))
	}
	return diags
}
