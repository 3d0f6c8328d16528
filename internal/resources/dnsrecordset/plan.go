package dnsrecordset

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/planregistry"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/dnsattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/hostattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/bind"
)

func planChange(ctx context.Context, opening crud.StoreContext, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse, m *model) {
	if !req.State.Raw.IsNull() {
		keepSpelling(ctx, req, resp, m)
	}
	if opening.Fleet != nil && !resp.Diagnostics.HasError() {
		across(ctx, opening.ProviderData, resp, m)
	}
}

// across checks the record set against the zone and the other record sets of the plan.
func across(ctx context.Context, provided crud.ProviderData, resp *resource.ModifyPlanResponse, m *model) {
	for _, v := range []types.String{m.ServiceNode, m.View, m.Zone, m.Name, m.Type} {
		if v.IsUnknown() {
			return
		}
	}
	zone, name, rrType := m.recordKey()
	at := planregistry.DNSPlace{Node: hostattr.Reference(m.ServiceNode), View: m.View.ValueString(), Zone: zone}
	inZone, twice := provided.Registry.DNS.PutSet(at, planregistry.DNSSet{Name: name, Type: rrType}, fmt.Sprint(m.TTL, m.Values))
	others := provided.Registry.DNS.Types(at, name, rrType)
	switch {
	case inZone:
		resp.Diagnostics.AddAttributeError(path.Root("name"), "Records that the zone has itself", fmt.Sprintf("zone %q has %s records for %q in its records; keep them in one place", zone, rrType, name))
	case twice:
		resp.Diagnostics.AddAttributeError(path.Root("name"), "Record set twice", fmt.Sprintf("another resource has the %s records of %q in zone %q; put all values in one", rrType, name, zone))
	case rrType == "CNAME" && len(others) > 0:
		resp.Diagnostics.AddAttributeError(path.Root("type"), "CNAME beside other data", fmt.Sprintf("%q has %s records too; a CNAME must be the only record of its name", name, strings.Join(others, ", ")))
	case slices.Contains(others, "CNAME"):
		resp.Diagnostics.AddAttributeError(path.Root("name"), "Data beside a CNAME", fmt.Sprintf("%q has a CNAME, which must be the only record of its name", name))
	}
	r, _ := toSpec(ctx, m)
	for _, p := range r.Beside(provided.Registry.DNS.Names(at)) {
		resp.Diagnostics.AddAttributeWarning(path.Root("name"), p.Summary, p.Detail)
	}
	if internal := r.InternalName(); internal != "" && dnsattr.ForStrangers(ctx, provided, at.Node, at.View) {
		resp.Diagnostics.AddAttributeWarning(path.Root("name"), "Internal name for strangers",
			fmt.Sprintf("%s is in view %q, which answers strangers; only machines of the cluster need it, so leave it out here", internal, at.View))
	}
}

// keepSpelling keeps what only is spelled differently; another zone, name or type is another record set.
func keepSpelling(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse, m *model) {
	var prior model
	resp.Diagnostics.Append(req.State.Get(ctx, &prior)...)
	if resp.Diagnostics.HasError() {
		return
	}
	zone, name, rrType := m.recordKey()
	oldZone, oldName, oldType := prior.recordKey()
	word := func(at string, planned *types.String, state types.String, same bool) {
		if !same {
			resp.RequiresReplace = append(resp.RequiresReplace, path.Root(at))
		}
		resp.Diagnostics.Append(dnsattr.Keep(ctx, resp, at, planned, state, same)...)
	}
	word("zone", &m.Zone, prior.Zone, zone == oldZone)
	word("name", &m.Name, prior.Name, name == oldName)
	word("type", &m.Type, prior.Type, rrType == oldType)
	tv, err := m.Values.ToTerraformValue(ctx)
	same := err == nil && tv.IsFullyKnown() && bind.SameValues(convert.Texts(m.Values), convert.Texts(prior.Values), rrType, zone)
	resp.Diagnostics.Append(dnsattr.Keep(ctx, resp, "values", &m.Values, prior.Values, same)...)
}
