// Package flushzone is the action virtcluster_flush_zone: a server of BIND forgets what it has cached of a zone.
package flushzone

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/action"
	"github.com/hashicorp/terraform-plugin-framework/action/schema"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/bind"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
)

// zone is the name of a zone, such as those of virtcluster_dns_zone.
var zone = values.New("zone", "example.com", bind.CheckFlushed)

// New makes the action.
func New() action.Action {
	return crud.NewAction(crud.Action[model]{
		Name: "flush_zone", Do: flushZone,
		Schema: schema.Schema{
			MarkdownDescription: "Has BIND on a service node forget what it has cached of a zone and of all names below: answers, also that there are none, and servers that did not answer. By `terraform apply -invoke=action.virtcluster_flush_zone.NAME`, or from an `action_trigger` of a resource. Terraform 1.14 and later. " +
				"For zones that other servers have, asked by forwarding or recursion, once these have changed. Zones of the server itself are not cached: a change of a `virtcluster_dns_zone` counts at once.",
			Attributes: map[string]schema.Attribute{
				"service_node": schema.StringAttribute{Required: true, Validators: []validator.String{values.Endpoint}, MarkdownDescription: "Machine that runs BIND: the `id` of a `virtcluster_service_node`."},
				"zone":         schema.StringAttribute{Required: true, Validators: []validator.String{zone}, MarkdownDescription: "Name of the zone. `.` is everything."},
				"view":         schema.StringAttribute{Optional: true, Validators: []validator.String{values.Word}, MarkdownDescription: "Name of the view whose cache it is. Default: all views."},
			},
		},
	})
}

type model struct {
	ServiceNode types.String `tfsdk:"service_node"`
	Zone        types.String `tfsdk:"zone"`
	View        types.String `tfsdk:"view"`
}

func flushZone(ctx context.Context, p crud.ProviderData, m *model, report func(string)) diag.Diagnostics {
	h, err := p.Fleet.Host(ctx, m.ServiceNode.ValueString())
	if err == nil {
		err = bind.FlushZone(ctx, h, m.Zone.ValueString(), m.View.ValueString())
	}
	if err != nil {
		summary := fmt.Sprintf("Cannot flush zone %q", m.Zone.ValueString())
		return diag.Diagnostics{diag.NewAttributeErrorDiagnostic(path.Root("service_node"), summary, err.Error())}
	}
	report(fmt.Sprintf("%s: the cache has nothing of %s any more", h, m.Zone.ValueString()))
	return nil
}
