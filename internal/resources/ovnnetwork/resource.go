// Package ovnnetwork is the resource virtcluster_ovn_network.
package ovnnetwork

import (
	"context"
	"errors"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/ovn"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/ovnattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// noun is what ids call a network.
const noun = "network"

// New is the constructor that the provider offers.
func New() resource.Resource {
	return ovnattr.New(ovnattr.Type[model, ovn.Network]{
		Noun: noun, Schema: resourceSchema, List: ovn.ListNetworks, Thing: ovn.NewNetwork, Keep: keepPool, Plan: planNetwork,
	})
}

type model struct {
	ovnattr.Model
	Mode          types.String `tfsdk:"mode"`
	CIDR          types.String `tfsdk:"cidr"`
	Gateway       types.String `tfsdk:"gateway"`
	IPv6CIDR      types.String `tfsdk:"ipv6_cidr"`
	BridgeMapping types.String `tfsdk:"bridge_mapping"`
	MTU           types.Int64  `tfsdk:"mtu"`
	DHCP          types.Object `tfsdk:"dhcp"`
}

// keepPool keeps the pool as it is written where it means the same.
func keepPool(was ovn.Network, got *ovn.Network) {
	if was.DHCP != nil && got.DHCP != nil && ovn.SamePool(was.DHCP.Pool, got.DHCP.Pool) {
		got.DHCP.Pool = was.DHCP.Pool
	}
}

// planNetwork plans what follows from OVN as it is, and finds a gateway that somebody has.
func planNetwork(ctx context.Context, at crud.StoreContext, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse, m *model) {
	planMTU(ctx, at, req, resp, m)
	want, diags := convert.Plain[ovn.Network](m)
	if at.Fleet == nil || m.OVN.IsUnknown() || diags.HasError() {
		return
	}
	n, err := at.Fleet.Northbound(ctx, m.OVN.ValueString())
	if err != nil {
		return // the apply says so
	}
	var had ovn.Network
	if state := new(model); !req.State.Raw.IsNull() && !req.State.Get(ctx, state).HasError() {
		had, _ = convert.Plain[ovn.Network](state)
	}
	planned := ovnattr.FindPlanned(ctx, at, m.OVN.ValueString())
	if err := errors.Join(ovn.CheckNetworkAddresses(ctx, n, want, had, planned), ovn.CheckIsolation(ctx, n, want, had)); err != nil {
		resp.Diagnostics.Append(crud.Diagnostics([]service.Problem{service.NewProblem("Network that would not work", err)})...)
	}
}

// planMTU plans the MTU where the configuration does not say: what fits into OVN's tunnels. While that is not known, or the database cannot
// be asked, the MTU is not known either.
func planMTU(ctx context.Context, at crud.StoreContext, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse, m *model) {
	if at.Fleet == nil || m.OVN.IsUnknown() {
		return
	}
	largest, err := largestMTU(ctx, at, m)
	var written types.Int64
	resp.Diagnostics.Append(req.Config.GetAttribute(ctx, path.Root("mtu"), &written)...)
	switch {
	case written.IsNull() && at.Claim.Owns(owner.Mark{}) && resp.Plan.Raw.Equal(req.State.Raw):
		// What a person made and a state imported has the MTU that it has, be it none, until something else of it changes.
	case written.IsNull() && errors.Is(err, errUndecided):
		resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root("mtu"), types.Int64Unknown())...)
	case written.IsNull() && err != nil && !req.State.Raw.IsNull():
		resp.Diagnostics.Append(req.State.GetAttribute(ctx, path.Root("mtu"), &m.MTU)...)
		resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root("mtu"), m.MTU)...)
	case written.IsNull() && err == nil:
		resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root("mtu"), largest)...)
	case err == nil && written.ValueInt64() > largest && m.Mode.ValueString() != ovn.Bridged:
		resp.Diagnostics.AddAttributeError(path.Root("mtu"), "MTU too large", fmt.Sprintf(
			"packets of %d bytes do not fit into OVN's tunnels, and would vanish on their way to another chassis: write %d at most, or leave it out", written.ValueInt64(), largest))
	}
}

// errUndecided is the error of what an apply decides.
var errUndecided = errors.New("it is known after the apply")

// largestMTU returns what fits into the tunnels of OVN as the plan will have it, or as its database says where the plan does not have it.
func largestMTU(ctx context.Context, at crud.StoreContext, m *model) (int64, error) {
	switch mtu, planned := ovn.FindPlannedMTU(at.Ledger, m.OVN.ValueString()); {
	case mtu != 0:
		return mtu, nil
	case planned:
		return 0, errUndecided
	}
	n, err := at.Fleet.Northbound(ctx, m.OVN.ValueString())
	if err != nil {
		return 0, err
	}
	return n.MTU(ctx)
}
