package exposureattr

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/hostattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/exposure"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/network"
)

// Open returns the store of an exposure; name is its own on the machine, and what names it in messages.
func Open(ctx context.Context, at crud.StoreContext, c *Common, name, what, id string) (crud.Store[exposure.Exposure], error) {
	s := exposure.NewStore(name, at.Claim, &at.Fleet.Turns)
	var err error
	if s.Part, err = crud.OpenPart(ctx, at, c.ServiceNode.ValueString(), s.NewPart(what, id)); err != nil {
		return nil, err
	}
	if convert.Known(c.Pool) {
		// No key that a configuration can have has a # in it.
		pool, err := OpenAddress(ctx, at, c.Pool, "exposed/"+host.WithoutKey(c.ServiceNode.ValueString())+"#"+name)
		if err != nil {
			return nil, err
		}
		known, _, _ := hostattr.Address(c.Address) // none where it is to be drawn
		s.DrawFrom(pool, known)
	}
	return s, nil
}

// PlanAddress refuses an exposure that has no address to be reached at, and asks for the device anew where the address moves.
func PlanAddress(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse, config *Common) {
	if config.Address.IsNull() && config.Pool.IsNull() {
		resp.Diagnostics.AddAttributeError(path.Root("address"), "No address", "write the address to be reached, or the pool that it is drawn from")
	}
	if req.State.Raw.IsNull() || !config.Interface.IsNull() || config.Address.IsNull() {
		return
	}
	var planned, stored types.String
	resp.Diagnostics.Append(resp.Plan.GetAttribute(ctx, path.Root("address"), &planned)...)
	resp.Diagnostics.Append(req.State.GetAttribute(ctx, path.Root("address"), &stored)...)
	if !planned.Equal(stored) {
		resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root("interface"), types.StringUnknown())...)
	}
}

// CrossCheck refuses what somebody has on the machine.
func CrossCheck(ctx context.Context, at crud.StoreContext, c *Common, want exposure.Exposure) diag.Diagnostics {
	var diags diag.Diagnostics
	if at.Fleet == nil || c.ServiceNode.ValueString() == "" || want.Kind != exposure.NodePort && !want.Address.IsValid() || want.Kind == exposure.NodePort && len(want.Targets) == 0 {
		return diags // a port of every address is that of the targets' family
	}
	h, err := at.Fleet.Host(ctx, c.ServiceNode.ValueString())
	if err != nil {
		return diags // the apply says so
	}
	problems, survey, asked := exposure.Check(ctx, &at.Fleet.Engine, h, at.Claim, want)
	if asked {
		diags.Append(crud.Diagnostics(problems)...)
		diags.Append(checkWayBack(ctx, at, h, survey, want)...)
	}
	return diags
}

// checkWayBack warns where what a target answers does not come back by the machine: its network's gateway is another one.
func checkWayBack(ctx context.Context, at crud.StoreContext, h host.Host, survey exposure.Survey, want exposure.Exposure) diag.Diagnostics {
	var diags diag.Diagnostics
	for target, place := range want.SeeWhoConnects() {
		for _, name := range at.Fleet.Names() {
			client, err := at.Fleet.Hypervisor(ctx, name)
			if err != nil {
				continue
			}
			gateway, network, offers, err := network.FindGateway(ctx, client, target)
			if err != nil || !offers || survey.Has(gateway) {
				continue
			}
			where := crud.AttributePath(place)
			diags.AddAttributeWarning(where, "Answers take another way", crud.DetailAt(where, fmt.Sprintf("network %q on hypervisor %s gives %s the gateway %s, which %s is not. "+
				"Unless the guest has another default gateway, nobody gets an answer from it but those beside it: write masquerade = true, or make the machine its gateway", network, client.URI(), target, gateway, h)))
			break
		}
	}
	return diags
}
