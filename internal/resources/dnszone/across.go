package dnszone

import (
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/dnsattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/bind"
)

// checkViews checks the zone against the plan's views, and against its view on the machine.
func (p *planner) checkViews(provided crud.ProviderData) {
	m := p.planned
	if m.Name.IsUnknown() || m.View.IsUnknown() {
		return
	}
	z, _ := toSpec(p.ctx, m)
	if m.ServiceNode.ValueString() != "" && z.View == "" {
		p.refuseViewless(provided)
	}
	names := z.InternalNames()
	if len(names) == 0 || !dnsattr.ForStrangers(p.ctx, provided, m.ServiceNode, z.View) {
		return
	}
	for _, name := range names {
		p.resp.Diagnostics.AddAttributeWarning(path.Root("records"), "Internal name for strangers",
			name+" is in view \""+z.View+"\", which answers strangers; only machines of the cluster need it, so leave it out here")
	}
}

// refuseViewless refuses a zone without a view where there are views: it would be in none of them. One that has none already is in every
// view that others have added since.
func (p *planner) refuseViewless(provided crud.ProviderData) {
	var names []string
	node := p.planned.ServiceNode.ValueString()
	for _, v := range bind.PlannedViews(provided.Ledger, host.WithoutKey(node)) {
		names = append(names, v.Name)
	}
	if len(names) == 0 && (p.prior == nil || p.prior.View.ValueString() != "") {
		if t, err := dnsattr.Live(p.ctx, provided.Fleet, node); err == nil {
			names = bind.ViewNames(t)
		}
	}
	if len(names) > 0 {
		p.resp.Diagnostics.AddAttributeError(path.Root("view"), "Zone without a view",
			"the machine answers by views, "+strings.Join(names, ", ")+": name the one that the zone belongs into")
	}
}
