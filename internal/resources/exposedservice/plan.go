package exposedservice

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/exposureattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/exposure"
)

// planChange completes the ports, and refuses what something else exposes.
func planChange(ctx context.Context, at crud.StoreContext, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse, m *model) {
	var config model
	resp.Diagnostics.Append(req.Config.Get(ctx, &config)...)
	if resp.Diagnostics.HasError() || m.Type.IsUnknown() {
		return
	}
	planPorts(ctx, resp, m, &config)
	if m.Type.ValueString() != string(exposure.NodePort) {
		exposureattr.PlanAddress(ctx, req, resp, &config.Common)
	}
	if !resp.Diagnostics.HasError() {
		spec, diags := toSpec(ctx, m)
		resp.Diagnostics.Append(diags...)
		resp.Diagnostics.Append(exposureattr.CrossCheck(ctx, at, &m.Common, spec)...)
	}
}

// planPorts completes ports that the configuration leaves out.
func planPorts(ctx context.Context, resp *resource.ModifyPlanResponse, m, config *model) {
	written := config.decodePorts(ctx, &resp.Diagnostics)
	for name, p := range m.decodePorts(ctx, &resp.Diagnostics) {
		at := path.Root("ports").AtMapKey(name)
		if written[name].Port.IsNull() && m.Type.ValueString() != string(exposure.NodePort) && !config.Ports.IsUnknown() {
			resp.Diagnostics.AddAttributeError(at.AtName("port"), "No port", "write the port that is to be reached: only a node_port chooses one")
		}
		if !written[name].TargetPort.IsNull() || config.Ports.IsUnknown() {
			continue
		}
		follows := p.Port
		if follows.IsUnknown() {
			follows = types.Int64Unknown()
		}
		resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, at.AtName("target_port"), follows)...)
	}
}

// nullForNodePort plans null for what a node_port does not have and the configuration leaves out, whatever the state has of the type before.
type nullForNodePort struct{}

func (nullForNodePort) Description(context.Context) string { return "A node_port has none." }

func (m nullForNodePort) MarkdownDescription(ctx context.Context) string { return m.Description(ctx) }

func (nullForNodePort) PlanModifyString(ctx context.Context, req planmodifier.StringRequest, resp *planmodifier.StringResponse) {
	var kind types.String
	resp.Diagnostics.Append(req.Plan.GetAttribute(ctx, path.Root("type"), &kind)...)
	if kind.ValueString() == string(exposure.NodePort) && req.ConfigValue.IsNull() {
		resp.PlanValue = types.StringNull()
	}
}

// keepPortOfType keeps a port that nobody writes while the type stays: one of another type may not have it.
type keepPortOfType struct{}

func (keepPortOfType) Description(context.Context) string { return "It stays while the type does." }

func (m keepPortOfType) MarkdownDescription(ctx context.Context) string { return m.Description(ctx) }

func (keepPortOfType) PlanModifyInt64(ctx context.Context, req planmodifier.Int64Request, resp *planmodifier.Int64Response) {
	if req.StateValue.IsNull() || !req.PlanValue.IsUnknown() || req.ConfigValue.IsUnknown() {
		return
	}
	var planned, stored types.String
	resp.Diagnostics.Append(req.Plan.GetAttribute(ctx, path.Root("type"), &planned)...)
	resp.Diagnostics.Append(req.State.GetAttribute(ctx, path.Root("type"), &stored)...)
	if planned.Equal(stored) {
		resp.PlanValue = req.StateValue
	}
}

// masqueradeOfType is the default that follows from the type: a node_port is reached behind whatever gateway its targets have.
type masqueradeOfType struct{}

func (masqueradeOfType) Description(context.Context) string { return "A node_port masquerades." }

func (m masqueradeOfType) MarkdownDescription(ctx context.Context) string { return m.Description(ctx) }

func (masqueradeOfType) PlanModifyBool(ctx context.Context, req planmodifier.BoolRequest, resp *planmodifier.BoolResponse) {
	var kind types.String
	resp.Diagnostics.Append(req.Plan.GetAttribute(ctx, path.Root("type"), &kind)...)
	if req.ConfigValue.IsNull() && !kind.IsUnknown() {
		resp.PlanValue = types.BoolValue(kind.ValueString() == string(exposure.NodePort))
	}
}
