package servicenode

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/sshhost"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
)

// sameEndpoint says whether two spellings lead to the same machine; the host key is compared elsewhere.
func sameEndpoint(a, b string) bool {
	one, err1 := host.ParseEndpoint(a)
	two, err2 := host.ParseEndpoint(b)
	one.HostKey, two.HostKey = "", ""
	return err1 == nil && err2 == nil && one.String() == two.String()
}

// keepSpelling plans the endpoint as the state has it, when the configuration only spells it otherwise.
type keepSpelling struct{ values.Undescribed }

func (keepSpelling) PlanModifyString(_ context.Context, req planmodifier.StringRequest, resp *planmodifier.StringResponse) {
	if !req.StateValue.IsNull() && !req.PlanValue.IsUnknown() && sameEndpoint(req.StateValue.ValueString(), req.PlanValue.ValueString()) {
		resp.PlanValue = req.StateValue
	}
}

func otherEndpoint(_ context.Context, req planmodifier.StringRequest, resp *stringplanmodifier.RequiresReplaceIfFuncResponse) {
	resp.RequiresReplace = !sameEndpoint(req.StateValue.ValueString(), req.PlanValue.ValueString())
}

// planChange plans the id and the host key, which belong together, and what the machine tells.
func planChange(ctx context.Context, at crud.StoreContext, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse, planned *model) {
	var config, state model
	resp.Diagnostics.Append(req.Config.Get(ctx, &config)...)
	exists := !req.State.Raw.IsNull()
	if exists {
		resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	}
	if resp.Diagnostics.HasError() || !checkHostKey(config, resp) {
		return
	}
	planID, known := "", false
	if !planned.Endpoint.IsUnknown() && !config.HostKey.IsUnknown() {
		planID, known = formatID(planned.Endpoint.ValueString(), config.HostKey.ValueString())
		// Nothing is applied, so the id may leave out a key that only the machine knows: what refers to it is checked the more.
		known = known || at.Fleet != nil && at.Fleet.Offline() && planID != ""
	}
	moved := exists && (planned.Endpoint.IsUnknown() || !sameEndpoint(state.Endpoint.ValueString(), planned.Endpoint.ValueString()))
	stays := exists && !moved && (known && samePin(planID, config.HostKey, state) || !known && !config.HostKey.IsUnknown())
	if stays {
		planned.ID, planned.OS, planned.HostKey = state.ID, state.OS, state.HostKey
		if planned.Services.Equal(state.Services) {
			planned.Versions = state.Versions
		}
	} else {
		if exists && !moved {
			resp.RequiresReplace.Append(path.Root("host_key"))
		}
		planned.ID, planned.OS, planned.Versions = types.StringUnknown(), types.StringUnknown(), types.MapUnknown(types.StringType)
		if known {
			planned.ID = types.StringValue(planID)
		}
		if known && at.Fleet != nil && !exists {
			at.Fleet.Await(planID)
		}
		planned.HostKey = plannedHostKey(config, known)
	}
	resp.Diagnostics.Append(resp.Plan.Set(ctx, planned)...)
}

// samePin says whether the machine of the state is the one that a plan's id names, by the whole of its key where that is given.
func samePin(planID string, given types.String, state model) bool {
	if !host.SameReference(planID, state.ID.ValueString()) {
		return false
	}
	now, err1 := sshhost.WholePin(given.ValueString())
	was, err2 := sshhost.WholePin(state.HostKey.ValueString())
	return err1 != nil || err2 != nil || now == was
}

// plannedHostKey is what `host_key` will hold where the machine is new.
func plannedHostKey(config model, known bool) types.String {
	if !config.HostKey.IsNull() {
		return config.HostKey
	}
	e, err := host.ParseEndpoint(config.Endpoint.ValueString())
	switch {
	case err == nil && e.HostKey.Whole():
		return types.StringValue(e.HostKey.String())
	case known && e.HostKey == "":
		return types.StringNull()
	}
	return types.StringUnknown()
}

// checkHostKey checks the endpoint against the host key.
func checkHostKey(config model, resp *resource.ModifyPlanResponse) bool {
	key := config.HostKey.ValueString()
	e, err := host.ParseEndpoint(config.Endpoint.ValueString())
	if err != nil || key == "" {
		return true // unknown, or the validator said it
	}
	whole, err := sshhost.WholePin(key)
	switch {
	case e.Scheme != host.SSH:
		resp.Diagnostics.AddAttributeError(path.Root("host_key"), "No host key here", "the endpoint "+e.String()+" is not reached by SSH and has no host key; leave host_key out")
	case err == nil && e.HostKey != "" && !whole.Within(e.HostKey):
		resp.Diagnostics.AddAttributeError(path.Root("host_key"), "Two host keys", "the endpoint says "+e.HostKey.String()+" and host_key says "+whole.String()+"; leave one of them out")
	default:
		return true
	}
	return false
}
