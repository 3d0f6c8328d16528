package dnszone

import (
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/planregistry"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/dnsattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/hostattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/bind"
)

// across checks the zone against the rest of the plan, and against its view on the machine.
func (p *planner) across(provided crud.ProviderData) {
	m := p.planned
	if m.Name.IsUnknown() || m.View.IsUnknown() {
		return
	}
	z, _ := toSpec(p.ctx, m)
	node := hostattr.Reference(m.ServiceNode) // "" while it is not known
	if node != "" {
		p.refuseViewless(provided, node, z)
		p.findOverlap(provided, planregistry.DNSPlace{Node: node, View: z.View, Zone: m.canonicalZone()}, z)
	}
	names := z.InternalNames()
	if len(names) == 0 || !dnsattr.ForStrangers(p.ctx, provided, node, z.View) {
		return
	}
	for _, name := range names {
		p.resp.Diagnostics.AddAttributeWarning(path.Root("records"), "Internal name for strangers",
			name+" is in view \""+z.View+"\", which answers strangers; only machines of the cluster need it, so leave it out here")
	}
}

// refuseViewless refuses a zone without a view where there are views: it would be in none of them.
func (p *planner) refuseViewless(provided crud.ProviderData, node string, z bind.Zone) {
	if z.View != "" {
		return
	}
	var names []string
	for _, v := range provided.Registry.DNS.Views(node) {
		names = append(names, v.Name)
	}
	if t, err := dnsattr.Live(p.ctx, provided.Fleet, node); err == nil && len(names) == 0 {
		names = bind.ViewNames(t)
	}
	if len(names) > 0 {
		p.resp.Diagnostics.AddAttributeError(path.Root("view"), "Zone without a view",
			"the machine answers by views, "+strings.Join(names, ", ")+": name the one that the zone belongs into")
	}
}

// findOverlap looks for record sets of other resources in the plan.
func (p *planner) findOverlap(provided crud.ProviderData, at planregistry.DNSPlace, z bind.Zone) {
	var sets []planregistry.DNSSet
	for _, s := range z.Sets() {
		sets = append(sets, planregistry.DNSSet{Name: s[0], Type: s[1]})
	}
	for _, s := range provided.Registry.DNS.PutZone(at, sets) {
		p.resp.Diagnostics.AddAttributeError(path.Root("records"), "Records of another resource",
			s.Name+" "+s.Type+" is a virtcluster_dns_record_set too; keep it in one place")
	}
}
