package exposureattr

import (
	"context"
	"errors"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/exposure"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/haproxy"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/network"
)

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
func CrossCheck(ctx context.Context, at crud.Opening, c *Common, want exposure.Exposure) diag.Diagnostics {
	var diags diag.Diagnostics
	if at.Fleet == nil || c.ServiceNode.ValueString() == "" || want.Kind != exposure.NodePort && !want.Address.IsValid() || want.Kind == exposure.NodePort && len(want.Targets) == 0 {
		return diags // a port of every address is that of the targets' family
	}
	h, err := at.Fleet.Host(ctx, c.ServiceNode.ValueString())
	if err != nil {
		return diags // the apply says so
	}
	return append(diags, checkMachine(ctx, at, h, want)...)
}

// occupied says who has a port, or the machine's own address, that an exposure would take.
func occupied(h host.Host, want exposure.Exposure, port, who string) string {
	place := exposure.Endpoint(want, want.Ports[port])
	if port == "" {
		place = "a port of " + want.Address.String() + ", or all of it,"
	}
	return fmt.Sprintf("%s has %s on %s: choose another address or port, or take that away first", who, place, h)
}

// portAt is portPath for errors of an apply.
func portAt(want exposure.Exposure, name string) []any {
	if _, there := want.Ports[name]; !there {
		return []any{"address"}
	}
	return []any{"ports", service.Key(name), "port"}
}

// portPath leads to the number of a port; "" stands for all of a floating address.
func portPath(name string) path.Path {
	if name == "" {
		return path.Root("address")
	}
	return path.Root("ports").AtMapKey(name).AtName("port")
}

// checkMachine refuses what is in the way on a machine that answers: rules of a person's under the provider's names, exposures and
// sections of HAProxy's that are another state's, and programs that listen.
func checkMachine(ctx context.Context, at crud.Opening, h host.Host, want exposure.Exposure) diag.Diagnostics {
	var diags diag.Diagnostics
	tree, survey, err := exposure.SurveyOnce(ctx, &at.Fleet.Engine, h)
	if err != nil {
		return diags // the apply says so
	}
	node := path.Root("service_node")
	for _, what := range survey.Foreign {
		diags.AddAttributeError(node, "Rules of somebody else's", fmt.Sprintf("on %s %s", h, what))
	}
	// What this state exposes besides is in the plan, where it may change.
	mine := func(m owner.Mark) bool { return m.Workspace == owner.Workspace() || at.Claim.Owns(m) }
	if what := exposure.Conflict(tree, want, func(m owner.Mark) bool { return !mine(m) }); what != "" {
		diags.AddAttributeError(node, "Exposed already", what+": choose another address or port, or have that destroyed first")
	}
	// What an interrupted change exposed is live until the apply takes it back: who has what is asked then.
	if interrupted, err := at.Fleet.Engine.Interrupted(ctx, h, exposure.Daemon{}); err == nil && !interrupted {
		diags.Append(checkTaken(ctx, at, h, tree, want)...)
		for port, who := range survey.Occupied(tree, want) {
			diags.AddAttributeError(portPath(port), "Port in use", occupied(h, want, port, who))
		}
	}
	for port, why := range survey.Blocked(want) {
		diags.AddAttributeError(portPath(port), "Shut by a firewall", fmt.Sprintf("on %s %s", h, why))
	}
	if err := exposure.PreviewLocate(ctx, &at.Fleet.Engine, h, want); err != nil && !diags.HasError() {
		diags.Append(doubt(err))
	}
	diags.Append(checkWayBack(ctx, at, h, survey, want)...)
	sections, err := at.Fleet.Engine.Snapshot(ctx, h, haproxy.Daemon{})
	if err != nil {
		return diags
	}
	for port, bind := range want.Binds() {
		if who, there := haproxy.ForeignListener(sections, bind, mine, "frontend "+exposure.Section(want.Name, port)); there {
			diags.AddAttributeError(portPath(port), "Port in use", fmt.Sprintf("%s listens at %s of %s already: choose another address or port, or have that removed first", who, bind.Endpoint(), h))
		}
	}
	return diags
}

// checkWayBack warns where what a target answers does not come back by the machine: its network's gateway is another one.
func checkWayBack(ctx context.Context, at crud.Opening, h host.Host, survey exposure.Survey, want exposure.Exposure) diag.Diagnostics {
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

// doubt warns of what the apply would refuse with the machine's network as it is now.
func doubt(err error) diag.Diagnostic {
	words := "Unless something else of this apply changes that: " + err.Error()
	if at, ok := errors.AsType[*service.AttributeError](err); ok {
		where := crud.AttributePath(at.Path)
		return diag.NewAttributeWarningDiagnostic(where, "The apply may refuse it", crud.DetailAt(where, words))
	}
	return diag.NewWarningDiagnostic("The apply may refuse it", words)
}
