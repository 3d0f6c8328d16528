// Package ovn is the resource virtcluster_ovn.
package ovn

import (
	"context"
	"fmt"
	"net/netip"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/ovn"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/ovn/engine"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/hostattr"
)

// New is the constructor that the provider offers.
func New() resource.Resource {
	return crud.New(crud.Type[model, engine.Engine]{
		Name:   "ovn",
		Noun:   "OVN",
		Label:  func(m *model) string { return hostattr.Endpoint(m.first()) },
		Schema: resourceSchema,
		Key:    []string{"id"},
		ID:     func(m *model) string { return host.ShortenReferences(m.first()) },
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
	Southbound      types.String `tfsdk:"southbound"`
	Versions        types.Map    `tfsdk:"versions"`
}

// first is the endpoint of the first database, "" while it is not known.
func (m *model) first() string {
	if all := convert.KnownTexts(m.Central); len(all) > 0 {
		return all[0]
	}
	return m.ID.ValueString() // after an import by the identity
}

func (m *model) toSpec() (e engine.Engine, diags diag.Diagnostics) {
	diags = convert.ToPlain(m, &e, func(...any) {})
	if len(e.Central) == 0 && m.ID.ValueString() != "" {
		e.Central = []string{m.ID.ValueString()}
	}
	return e, diags
}

func (m *model) fillModel(got engine.Engine) diag.Diagnostics {
	convert.FromPlain(&got, m)
	return nil
}

func openStore(_ context.Context, at crud.StoreContext, m *model) (crud.Store[engine.Engine], error) {
	known, diags := m.toSpec()
	if diags.HasError() || len(known.Central) == 0 {
		return nil, fmt.Errorf("where OVN's databases are is not known")
	}
	return engine.Open(at.Fleet, &at.Fleet.Engine, host.ShortenReferences(m.first()), at.Claim, known), nil
}

// planEngine plans what follows from the configuration, and finds what is wrong with the machines that are there.
func planEngine(ctx context.Context, at crud.StoreContext, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse, m *model) {
	if m.first() == "" || !convert.WhollyKnown(ctx, m.Central) {
		return
	}
	var config model
	resp.Diagnostics.Append(req.Config.Get(ctx, &config)...)
	set := func(name string, v attr.Value) {
		resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root(name), v)...)
	}
	if m.ID.IsUnknown() { // what is on it is planned with it, and compared with what is there
		m.ID = types.StringValue(host.ShortenReferences(m.first()))
		set("id", m.ID)
	}
	if config.Address.IsNull() {
		address, ok := engine.CentralAddress(m.first())
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
		warnOfLeaving(ctx, at, resp, m, &was)
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
	if spec, diags := m.toSpec(); !diags.HasError() && !m.Address.IsUnknown() && !m.TLS.IsUnknown() {
		set("southbound", types.StringValue(spec.Remote()))
	}
	if at.Fleet != nil && !checkChassis(ctx, at, resp, m, lookedUp) {
		plan(types.Int64Unknown(), types.Int64Unknown())
	}
}

// warnOfLeaving says what keeps chassis from going that are not wanted any more.
func warnOfLeaving(ctx context.Context, at crud.StoreContext, resp *resource.ModifyPlanResponse, m, was *model) {
	known, diags := was.toSpec()
	want, others := m.toSpec()
	if diags.HasError() || others.HasError() || at.Fleet == nil || m.Chassis.IsUnknown() {
		return
	}
	for name := range known.Chassis {
		if _, stays := want.Chassis[name]; !stays {
			store := engine.Open(at.Fleet, &at.Fleet.Engine, host.ShortenReferences(m.first()), at.Claim, want)
			resp.Diagnostics.Append(crud.Diagnostics(store.WarnOfLeaving(ctx, known))...)
			return
		}
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
