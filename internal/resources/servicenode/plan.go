package servicenode

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/sshhost"
)

// validEndpoint accepts what host.ParseEndpoint does.
type validEndpoint struct{}

func (validEndpoint) Description(context.Context) string         { return "an endpoint" }
func (validEndpoint) MarkdownDescription(context.Context) string { return "an endpoint" }

func (validEndpoint) ValidateString(_ context.Context, req validator.StringRequest, resp *validator.StringResponse) {
	if req.ConfigValue.IsNull() || req.ConfigValue.IsUnknown() {
		return
	}
	e, err := host.ParseEndpoint(req.ConfigValue.ValueString())
	if err == nil {
		_, err = host.ParseJump(e.ProxyJump)
	}
	if err != nil {
		resp.Diagnostics.AddAttributeError(req.Path, "Invalid endpoint", err.Error())
	}
}

// validHostKey accepts a fingerprint or a public key.
type validHostKey struct{}

func (validHostKey) Description(context.Context) string         { return "a host key" }
func (validHostKey) MarkdownDescription(context.Context) string { return "a host key" }

func (validHostKey) ValidateString(_ context.Context, req validator.StringRequest, resp *validator.StringResponse) {
	if req.ConfigValue.IsNull() || req.ConfigValue.IsUnknown() {
		return
	}
	if _, err := sshhost.Fingerprint(req.ConfigValue.ValueString()); err != nil {
		resp.Diagnostics.AddAttributeError(req.Path, "Invalid host key", err.Error())
	}
}

// sameEndpoint says whether two spellings lead to the same machine; the host key is compared elsewhere.
func sameEndpoint(a, b string) bool {
	one, err1 := host.ParseEndpoint(a)
	two, err2 := host.ParseEndpoint(b)
	one.HostKey, two.HostKey = "", ""
	return err1 == nil && err2 == nil && one.String() == two.String()
}

// keepSpelling plans the endpoint as the state has it, when the configuration only spells it otherwise.
type keepSpelling struct{}

func (keepSpelling) Description(context.Context) string {
	return "two spellings of one endpoint are no change"
}

func (k keepSpelling) MarkdownDescription(ctx context.Context) string { return k.Description(ctx) }

func (keepSpelling) PlanModifyString(_ context.Context, req planmodifier.StringRequest, resp *planmodifier.StringResponse) {
	if !req.StateValue.IsNull() && !req.PlanValue.IsUnknown() && sameEndpoint(req.StateValue.ValueString(), req.PlanValue.ValueString()) {
		resp.PlanValue = req.StateValue
	}
}

func otherEndpoint(_ context.Context, req planmodifier.StringRequest, resp *stringplanmodifier.RequiresReplaceIfFuncResponse) {
	resp.RequiresReplace = !sameEndpoint(req.StateValue.ValueString(), req.PlanValue.ValueString())
}

// ModifyPlan plans the id and the host key, which belong together, and what the machine tells.
func (r *serviceNode) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	if req.Plan.Raw.IsNull() {
		return
	}
	var config, plan, state model
	resp.Diagnostics.Append(req.Config.Get(ctx, &config)...)
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	exists := !req.State.Raw.IsNull()
	if exists {
		resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	}
	if resp.Diagnostics.HasError() || !consistent(config, resp) {
		return
	}
	planID, known := "", false
	if !plan.Endpoint.IsUnknown() && !config.HostKey.IsUnknown() {
		planID, known = id(plan.Endpoint.ValueString(), config.HostKey.ValueString())
	}
	moved := exists && (plan.Endpoint.IsUnknown() || !sameEndpoint(state.Endpoint.ValueString(), plan.Endpoint.ValueString()))
	stays := exists && !moved && (known && planID == state.ID.ValueString() || !known && !config.HostKey.IsUnknown())
	if stays {
		plan.ID, plan.OS, plan.HostKey = state.ID, state.OS, state.HostKey
		if plan.Services.Equal(state.Services) {
			plan.Versions = state.Versions
		}
	} else {
		if exists && !moved {
			resp.RequiresReplace.Append(path.Root("host_key"))
		}
		plan.ID, plan.OS, plan.Versions = types.StringUnknown(), types.StringUnknown(), types.MapUnknown(types.StringType)
		if known {
			plan.ID = types.StringValue(planID)
		}
		plan.HostKey = plannedHostKey(config, planID, known)
	}
	resp.Diagnostics.Append(resp.Plan.Set(ctx, &plan)...)
}

// plannedHostKey is what `host_key` will hold where the machine is new.
func plannedHostKey(config model, planID string, known bool) types.String {
	if !config.HostKey.IsNull() || !known {
		if config.HostKey.IsNull() {
			return types.StringUnknown()
		}
		return config.HostKey
	}
	if e, err := host.ParseEndpoint(planID); err == nil && e.HostKey != "" {
		return types.StringValue(e.HostKey)
	}
	return types.StringNull()
}

// consistent checks the endpoint against the host key.
func consistent(config model, resp *resource.ModifyPlanResponse) bool {
	key := config.HostKey.ValueString()
	e, err := host.ParseEndpoint(config.Endpoint.ValueString())
	if err != nil || key == "" {
		return true // unknown, or the validator said it
	}
	fingerprint, err := sshhost.Fingerprint(key)
	switch {
	case e.Scheme != host.SSH:
		resp.Diagnostics.AddAttributeError(path.Root("host_key"), "No host key here", "the endpoint "+e.String()+" is not reached by SSH and has no host key; leave host_key out")
	case err == nil && e.HostKey != "" && e.HostKey != fingerprint:
		resp.Diagnostics.AddAttributeError(path.Root("host_key"), "Two host keys", "the endpoint says "+e.HostKey+" and host_key says "+fingerprint+"; leave one of them out")
	default:
		return true
	}
	return false
}
