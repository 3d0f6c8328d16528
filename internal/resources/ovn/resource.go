// Package ovn is the resource virtcluster_ovn.
package ovn

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/ovn"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/ovn/engine"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/hostattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
)

// New is the constructor that the provider offers.
func New() resource.Resource {
	return crud.New(crud.Type[model, engine.Engine]{
		Name:   "ovn",
		Noun:   "OVN",
		Label:  func(m *model) string { return hostattr.Endpoint(m.findFirst()) },
		Schema: resourceSchema,
		Key:    []string{"id"},
		ID:     func(m *model) string { return host.ShortenReferences(m.findFirst()) }, // it stays, whatever comes to it
		Split: func(m *model, id string) error {
			_, err := host.ParseEndpoint(id)
			m.Central = convert.List([]string{id})
			return err
		},
		Spec: func(_ context.Context, m *model) (engine.Engine, diag.Diagnostics) { return m.toSpec() },
		Fill: func(_ context.Context, m *model, got engine.Engine) diag.Diagnostics { return m.fillModel(got) },
		Open: openStore,
		Plan: planEngine,
	})
}

type model struct {
	crud.ServingModel
	ID              types.String `tfsdk:"id"`
	Central         types.List   `tfsdk:"central"`
	Address         types.String `tfsdk:"address"`
	Chassis         types.Map    `tfsdk:"chassis"`
	Datapath        types.String `tfsdk:"datapath"`
	UnderlayMTU     types.Int64  `tfsdk:"underlay_mtu"`
	InstallPackages types.Bool   `tfsdk:"install_packages"`
	TLS             types.Bool   `tfsdk:"tls"`
	Certificates    types.Object `tfsdk:"certificates"`
	MTU             types.Int64  `tfsdk:"mtu"`
	Northbound      types.String `tfsdk:"northbound"`
	Southbound      types.String `tfsdk:"southbound"`
	Versions        types.Map    `tfsdk:"versions"`
}

// findFirst returns the endpoint of the machine by which OVN is known, "" while it is not known: the one that the id names, where there is one.
func (m *model) findFirst() string {
	all := convert.KnownTexts(m.Central)
	for _, endpoint := range all {
		if host.SameReference(endpoint, m.ID.ValueString()) {
			return endpoint
		}
	}
	if len(all) > 0 {
		return all[0]
	}
	return m.ID.ValueString() // after an import by the identity
}

func (m *model) toSpec() (e engine.Engine, diags diag.Diagnostics) {
	diags = convert.ToPlain(m, &e, func(...any) {})
	if len(e.Central) == 0 && m.ID.ValueString() != "" {
		e.Central = []string{m.ID.ValueString()}
	}
	if first := m.findFirst(); len(e.Central) > 1 { // the order of the others says nothing
		e.Central = append([]string{first}, slices.DeleteFunc(e.Central, func(endpoint string) bool { return endpoint == first })...)
	}
	return e, diags
}

func (m *model) fillModel(got engine.Engine) diag.Diagnostics {
	written := m.Central
	convert.FromPlain(&got, m)
	if isSameCentral(convert.KnownTexts(written), got.Central) {
		m.Central = written
	}
	return nil
}

// isSameCentral says whether two lists name the same machines, in whatever order.
func isSameCentral(a, b []string) bool {
	return len(a) == len(b) && !slices.ContainsFunc(a, func(one string) bool {
		return !slices.ContainsFunc(b, func(other string) bool { return host.SameReference(one, other) })
	})
}

func openStore(_ context.Context, at crud.StoreContext, m *model) (crud.Store[engine.Engine], error) {
	known, diags := m.toSpec()
	if diags.HasError() || len(known.Central) == 0 {
		return nil, fmt.Errorf("where OVN's databases are is not known")
	}
	return engine.Open(at.Fleet, &at.Fleet.Engine, host.ShortenReferences(m.findFirst()), at.Claim, known), nil
}

// planEngine plans what follows from the configuration, and finds what is wrong with the machines that are there.
func planEngine(ctx context.Context, at crud.StoreContext, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse, m *model) {
	if m.findFirst() == "" || !convert.WhollyKnown(ctx, m.Central) {
		return
	}
	var config model
	resp.Diagnostics.Append(req.Config.Get(ctx, &config)...)
	set := func(name string, v attr.Value) {
		resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root(name), v)...)
	}
	if m.ID.IsUnknown() { // what is on it is planned with it, and compared with what is there
		m.ID = types.StringValue(host.ShortenReferences(m.findFirst()))
		set("id", m.ID)
	}
	if config.Address.IsNull() {
		address, ok := engine.CentralAddress(m.findFirst())
		if !ok {
			resp.Diagnostics.AddAttributeError(path.Root("address"), "No address of the databases", "the endpoint of central has no address in it: write the address at which the chassis reach that machine")
			return
		}
		m.Address = types.StringValue(address.String())
		set("address", m.Address)
	}
	if !resp.Plan.Raw.Equal(req.State.Raw) {
		set("versions", types.MapUnknown(types.StringType))
	}
	var was model
	if !req.State.Raw.IsNull() {
		resp.Diagnostics.Append(req.State.Get(ctx, &was)...)
		planCentral(ctx, at, resp, m, &was)
	}
	// What was looked up stays while it fits: what guests may send does not grow by itself. Without chassis there is nothing to look at.
	lookedUp := config.UnderlayMTU.IsNull()
	plan := func(underlay, guests types.Int64) {
		m.UnderlayMTU = underlay
		set("underlay_mtu", underlay)
		set("mtu", guests)
	}
	switch {
	case lookedUp && was.UnderlayMTU.IsNull() && !m.Chassis.IsUnknown() && len(m.Chassis.Elements()) == 0:
		plan(types.Int64Null(), types.Int64Null())
	case lookedUp && was.UnderlayMTU.IsNull(), m.UnderlayMTU.IsUnknown():
		plan(types.Int64Unknown(), types.Int64Unknown())
	case !m.UnderlayMTU.Equal(was.UnderlayMTU):
		set("mtu", types.Int64Value(m.UnderlayMTU.ValueInt64()-ovn.Tunnel))
	}
	if spec, diags := m.toSpec(); !diags.HasError() {
		set("northbound", types.StringValue(spec.ListSockets()))
	}
	if spec, diags := m.toSpec(); !diags.HasError() && !m.Address.IsUnknown() && !m.TLS.IsUnknown() {
		set("southbound", types.StringValue(spec.Remote()))
	}
	if at.Fleet != nil && !resp.Plan.Raw.Equal(req.State.Raw) {
		checkPackages(ctx, at, resp, m)
	}
	if at.Fleet != nil && !checkChassis(ctx, at, resp, m, lookedUp) {
		plan(types.Int64Unknown(), types.Int64Unknown())
	}
}

// checkPackages finds machines that lack programs which may not be installed.
func checkPackages(ctx context.Context, at crud.StoreContext, resp *resource.ModifyPlanResponse, m *model) {
	spec, diags := m.toSpec()
	if diags.HasError() || m.InstallPackages.IsUnknown() || m.Chassis.IsUnknown() || spec.Install {
		return
	}
	missing := engine.Open(at.Fleet, &at.Fleet.Engine, "", at.Claim, spec).CheckInstalled(ctx)
	for _, endpoint := range slices.Sorted(maps.Keys(missing)) {
		resp.Diagnostics.AddAttributeError(path.Root("install_packages"), "Programs of OVN are missing", missing[endpoint].Error())
	}
}

// planCentral has what asks the databases in the same run, be it after a plan without a change, know where they are, and finds changes of their machines
// that cannot be made in place.
func planCentral(ctx context.Context, at crud.StoreContext, resp *resource.ModifyPlanResponse, m, was *model) {
	known, diags := was.toSpec()
	if diags.HasError() || at.Fleet == nil {
		return
	}
	north, err := at.Fleet.Northbound(ctx, was.findFirst())
	if err != nil {
		return
	}
	if len(known.Central) > 1 {
		north.SetMembers(known.Central)
	}
	want, diags := m.toSpec()
	if diags.HasError() {
		return
	}
	store := engine.Open(at.Fleet, &at.Fleet.Engine, host.ShortenReferences(m.findFirst()), at.Claim, want)
	if !m.Chassis.IsUnknown() {
		resp.Diagnostics.Append(crud.Diagnostics(store.WarnOfLeaving(ctx, known))...)
	}
	staysCluster := len(want.Central) > 1 && len(known.Central) > 1
	switch has := func(endpoint string) bool { return isSameCentral([]string{endpoint}, known.Central[:1]) }; {
	case len(known.Central) > 1 && !slices.ContainsFunc(want.Central, has):
		resp.Diagnostics.AddAttributeError(path.Root("central"), "Machine by which OVN is known", fmt.Sprintf("%s names OVN in what is on it, and has to stay: keep it in central and change the others. "+
			"Where it is lost for good, `terraform state rm` this resource and what is on it, and import these by the endpoint of another machine", hostattr.Endpoint(known.Central[0])))
	case staysCluster && want.TLS != known.TLS:
		resp.Diagnostics.AddAttributeError(path.Root("tls"), "TLS of a cluster", "the servers of a cluster of databases reach each other as they did when it began: write one endpoint in central first, change tls with that, and write three again")
	case staysCluster && want.Address.IsValid() && known.Address.IsValid() && want.Address != known.Address:
		resp.Diagnostics.AddAttributeError(path.Root("address"), "Address of a cluster", fmt.Sprintf("the servers of a cluster of databases know each other by their addresses, and that of the first one is %s: "+
			"write one endpoint in central first, change address with that, and write three again", known.Address))
	case len(want.Central) > 1 && !isSameCentral(want.Central, known.Central):
		if err := store.MayGrow(ctx); err != nil {
			resp.Diagnostics.AddAttributeError(path.Root("central"), "Databases of others", err.Error())
		}
	}
}

// keepCentral plans what the state has where the configuration names the same machines in another order, and has one for each other OVN: where it is
// known by a machine that is not among those any more.
type keepCentral struct{ values.Undescribed }

func (keepCentral) PlanModifyList(ctx context.Context, req planmodifier.ListRequest, resp *planmodifier.ListResponse) {
	if req.StateValue.IsNull() || !convert.WhollyKnown(ctx, req.PlanValue) {
		return
	}
	known, want := convert.KnownTexts(req.StateValue), convert.KnownTexts(req.PlanValue)
	switch {
	case isSameCentral(known, want):
		resp.PlanValue = req.StateValue
	case len(known) == 1 && !slices.ContainsFunc(want, func(endpoint string) bool { return host.SameReference(endpoint, known[0]) }):
		resp.RequiresReplace = true
	}
}

// checkChassis finds tunnel addresses that machines do not have, and chassis that are other machines than their hypervisors. It says whether
// an underlay's MTU that was looked up still fits all of their devices; one that is configured has to. What cannot be asked now the apply
// says.
func checkChassis(ctx context.Context, at crud.StoreContext, resp *resource.ModifyPlanResponse, m *model, lookedUp bool) (fits bool) {
	spec, diags := m.toSpec()
	if diags.HasError() || m.Chassis.IsUnknown() {
		return true
	}
	fits = true
	for name, c := range spec.Chassis {
		if c.Endpoint == "" || !c.TunnelIP.IsValid() {
			continue
		}
		seen, err := lookAt(ctx, at, c.Endpoint, c.TunnelIP)
		if err != nil {
			continue
		}
		chassis := path.Root("chassis").AtMapKey(name)
		switch {
		case seen.Device == "":
			resp.Diagnostics.AddAttributeError(chassis.AtName("tunnel_ip"), "No such address", fmt.Sprintf("the machine of chassis %q has no address %s: write the one that it has on the underlay", name, c.TunnelIP))
		case spec.UnderlayMTU > seen.MTU && lookedUp:
			fits = false
		case spec.UnderlayMTU > seen.MTU:
			resp.Diagnostics.AddAttributeError(path.Root("underlay_mtu"), "MTU of the underlay too large", fmt.Sprintf("%s of chassis %q takes packets of %d bytes: write %d at most", seen.Device, name, seen.MTU, seen.MTU))
		}
		if c.Hypervisor == "" {
			continue
		}
		endpoint, err := at.Fleet.HostOf(c.Hypervisor)
		if err != nil {
			resp.Diagnostics.AddAttributeError(chassis.AtName("hypervisor"), "Unknown hypervisor", err.Error())
			continue
		}
		if other, err := lookAt(ctx, at, endpoint, netip.Addr{}); err == nil && other.ID != seen.ID {
			resp.Diagnostics.AddAttributeError(chassis.AtName("endpoint"), "Chassis of another machine", fmt.Sprintf("%s is another machine than that of hypervisor %q, %s: its guests would not be on the chassis' networks", hostattr.Endpoint(c.Endpoint), c.Hypervisor, endpoint))
		}
	}
	return fits
}

func lookAt(ctx context.Context, at crud.StoreContext, endpoint string, tunnel netip.Addr) (engine.Machine, error) {
	h, err := at.Fleet.Host(ctx, endpoint)
	if err != nil {
		return engine.Machine{}, err
	}
	return engine.Look(ctx, h, tunnel)
}
