package dnszone

import (
	"context"
	"maps"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/bind"
)

// planner fills in what follows from the configuration and keeps what only is spelled differently.
type planner struct {
	ctx    context.Context
	resp   *resource.ModifyPlanResponse
	config model
	// proposed is the plan as it came, planned what becomes of it.
	proposed model
	planned  *model
	// prior is nil for a new zone.
	prior *model
}

func planChange(ctx context.Context, opening crud.StoreContext, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse, m *model) {
	p := planner{ctx: ctx, resp: resp, proposed: *m, planned: m}
	resp.Diagnostics.Append(req.Config.Get(ctx, &p.config)...)
	if !req.State.Raw.IsNull() {
		p.prior = &model{}
		resp.Diagnostics.Append(req.State.Get(ctx, p.prior)...)
	}
	if resp.Diagnostics.HasError() {
		return
	}
	p.planName()
	p.planSOA()
	m.ParentRecords = p.planParents()
	if p.prior != nil {
		p.keepSpelling()
		p.keepTransfer()
	}
	p.planSerial()
	p.storeChanges()
	if opening.Fleet != nil && !resp.Diagnostics.HasError() {
		p.checkViews(opening.ProviderData)
	}
}

// storeChanges sets the attributes that planning changed. Each one costs a walk over the whole plan, so what stayed is not
// set again.
func (p *planner) storeChanges() {
	before, after := p.proposed.plannedValues(), p.planned.plannedValues()
	for _, at := range slices.Sorted(maps.Keys(after)) {
		if !after[at].Equal(before[at]) {
			p.resp.Diagnostics.Append(p.resp.Plan.SetAttribute(p.ctx, path.Root(at), after[at])...)
		}
	}
}

// planName settles name and cidr, of which the configuration has one.
func (p *planner) planName() {
	name, cidr := p.config.Name, p.config.CIDR
	if name.IsUnknown() || cidr.IsUnknown() {
		p.planned.Name, p.planned.CIDR = unknownIfNull(name), unknownIfNull(cidr)
		return
	}
	zone, err := bind.Zone{Name: name.ValueString(), CIDR: cidr.ValueString()}.CanonicalName()
	if err != nil {
		return // Validate has said so
	}
	switch {
	case name.IsNull() && cidr.IsNull():
		p.resp.Diagnostics.AddError("No name for the zone", "give name, such as \"okd.example.com\", or cidr for a reverse zone")
		return
	case name.IsNull():
		p.planned.Name = types.StringValue(zone)
	case !cidr.IsNull():
		of, err := bind.Zone{CIDR: cidr.ValueString()}.CanonicalName()
		if err != nil {
			p.resp.Diagnostics.AddAttributeError(path.Root("cidr"), "Invalid zone", err.Error())
			return
		}
		if of != zone {
			p.resp.Diagnostics.AddAttributeError(path.Root("name"), "Name and prefix disagree", "the reverse zone of "+cidr.ValueString()+" is \""+of+"\"; leave out name or cidr")
			return
		}
	}
	p.planned.CIDR = cidrOf(bind.Zone{Name: zone, CIDR: cidr.ValueString()})
	if p.prior != nil {
		p.keepName(zone)
	}
}

// keepName keeps another spelling of the name in state; another name is another zone.
func (p *planner) keepName(zone string) {
	if p.prior.canonicalZone() != zone {
		p.resp.RequiresReplace = append(p.resp.RequiresReplace, path.Root("name"))
		return
	}
	p.planned.Name = p.prior.Name
	now, err := bind.ParseCIDR(p.planned.CIDR.ValueString())
	before, errBefore := bind.ParseCIDR(p.prior.CIDR.ValueString())
	if err == nil && errBefore == nil && now == before {
		p.planned.CIDR = p.prior.CIDR
	}
}

func unknownIfNull(s types.String) types.String {
	if s.IsNull() {
		return types.StringUnknown()
	}
	return s
}

// planSOA fills in the defaults that depend on other attributes.
func (p *planner) planSOA() {
	m := p.planned
	if m.Forward.IsUnknown() {
		if p.config.SOA.IsNull() {
			m.SOA = types.ObjectUnknown(soaTypes)
		}
		return
	}
	if !m.Forward.IsNull() {
		p.primaryOnly()
		m.SOA = types.ObjectNull(soaTypes)
		return
	}
	if p.config.SOA.IsUnknown() {
		return
	}
	attributes := convert.Value(bind.DefaultSOA).(types.Object).Attributes()
	if !p.config.SOA.IsNull() {
		for name, v := range p.config.SOA.Attributes() {
			if !v.IsNull() {
				attributes[name] = v
			}
		}
	}
	if s, _ := attributes["mname"].(types.String); s.ValueString() == "" && !s.IsUnknown() {
		attributes["mname"] = p.firstServer()
	}
	if s, _ := attributes["rname"].(types.String); s.ValueString() == "" && !s.IsUnknown() {
		attributes["rname"] = types.StringUnknown()
		if zone := m.canonicalZone(); zone != "" && !m.Name.IsUnknown() {
			attributes["rname"] = types.StringValue(bind.DefaultMailbox(zone))
		}
	}
	m.SOA = types.ObjectValueMust(soaTypes, attributes)
}

// primaryOnly refuses beside forward what only a primary zone has: a machine would not keep it, so that it could never be read back.
func (p *planner) primaryOnly() {
	for name, v := range map[string]attr.Value{"soa": p.config.SOA, "ttl": p.config.TTL, "name_servers": p.config.NameServers, "allow_transfer": p.config.AllowTransfer} {
		if !v.IsNull() {
			p.resp.Diagnostics.AddAttributeError(path.Root(name), "Not for a forward zone", "a zone with `forward` has nothing of its own: leave "+name+" out, or leave out forward")
		}
	}
}

func (p *planner) firstServer() attr.Value {
	if p.planned.NameServers.IsUnknown() {
		return types.StringUnknown()
	}
	for _, e := range p.planned.NameServers.Elements() {
		return e
	}
	return types.StringValue(bind.DefaultNameServer)
}

func (p *planner) planParents() types.Map {
	if p.planned.CIDR.IsUnknown() {
		return types.MapUnknown(setsType)
	}
	return parentRecords(p.planned.CIDR.ValueString())
}

// keepSpelling keeps the attributes of the prior state that mean what is planned.
func (p *planner) keepSpelling() {
	m, was := p.planned, p.prior
	zone := m.canonicalZone()
	now, _ := toSpec(p.ctx, m)
	before, _ := toSpec(p.ctx, was)
	if convert.WhollyKnown(p.ctx, m.NameServers) && bind.SameNames(now.NameServers, before.NameServers, zone) {
		m.NameServers = was.NameServers
	}
	if convert.WhollyKnown(p.ctx, m.AllowTransfer) && bind.SameMatches(now.AllowTransfer, before.AllowTransfer) {
		m.AllowTransfer = was.AllowTransfer
	}
	full, err := now.FullSOA()
	fullBefore, errBefore := before.FullSOA()
	if convert.WhollyKnown(p.ctx, m.SOA) && err == nil && errBefore == nil && full == fullBefore && !was.SOA.IsNull() && !m.SOA.IsNull() {
		m.SOA = was.SOA
	}
	if now.Forward != nil && before.Forward != nil && now.Forward.Only == before.Forward.Only && convert.WhollyKnown(p.ctx, m.Forward) && bind.SameServers(now.Forward.Servers, before.Forward.Servers) {
		m.Forward = was.Forward
	}
	if m.Records.Equal(was.Records) && m.Pointers.Equal(was.Pointers) {
		return
	}
	if convert.WhollyKnown(p.ctx, m.Records) && convert.WhollyKnown(p.ctx, m.Pointers) && zone == was.canonicalZone() && now.SameData(before) {
		// What is written empty where the state has nothing, or moves from records to pointers, is planned as the configuration has it.
		if !was.Records.IsNull() && !m.Records.IsNull() {
			m.Records = was.Records
		}
		if !was.Pointers.IsNull() && !m.Pointers.IsNull() {
			m.Pointers = was.Pointers
		}
	}
}

// keepTransfer leaves it to the server's options who may transfer a zone that a person wrote without saying so, until anything else of it changes.
func (p *planner) keepTransfer() {
	if p.prior.AllowTransfer.IsNull() && p.config.AllowTransfer.IsNull() && !slices.ContainsFunc(p.listChanges(), func(at string) bool { return at != "allow_transfer" && at != "serial" }) {
		p.planned.AllowTransfer = p.prior.AllowTransfer
	}
}

// listChanges lists the attributes that are planned to be otherwise than in the state.
func (p *planner) listChanges() (changed []string) {
	before := p.prior.plannedValues()
	for at, v := range p.planned.plannedValues() {
		if !v.Equal(before[at]) {
			changed = append(changed, at)
		}
	}
	return changed
}

// planSerial is the one in state while nothing changes.
func (p *planner) planSerial() {
	m := p.planned
	if convert.Known(m.Forward) {
		m.Serial = types.Int64Null()
		return
	}
	if p.prior == nil || m.Forward.IsUnknown() {
		return
	}
	m.Serial = p.prior.Serial
	if len(p.listChanges()) > 0 {
		m.Serial = types.Int64Unknown()
	}
}
