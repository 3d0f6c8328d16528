package ovn

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

func TestAnotherMachineHasAnotherID(t *testing.T) {
	t.Parallel()
	ctx, s := t.Context(), resourceSchema(t.Context())
	null := tftypes.NewValue(s.Type().TerraformType(ctx), nil)
	hv1, unknown := types.StringValue("hv1"), types.StringUnknown()
	for name, test := range map[string]struct {
		was, endpoint             types.String
		wasHypervisor, hypervisor types.String
		stays                     bool
	}{
		"the same machine":      {types.StringValue(a), types.StringValue(a), hv1, hv1, true},
		"another spelling":      {types.StringValue(shortA), types.StringValue(pinnedA), types.StringNull(), types.StringNull(), true},
		"another endpoint":      {types.StringValue(a), types.StringValue(b), hv1, hv1, false},
		"another way to it":     {types.StringValue(a), types.StringValue(a + "?proxy_jump=bastion"), hv1, hv1, false},
		"another hypervisor":    {types.StringValue(a), types.StringValue(a), hv1, types.StringValue("hv2"), false},
		"one that is not known": {types.StringValue(a), unknown, hv1, hv1, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			chassis := path.Root("chassis").AtMapKey("kvm1")
			state, plan := tfsdk.State{Schema: s, Raw: null}, tfsdk.Plan{Schema: s, Raw: null}
			for attribute, values := range map[string][2]types.String{"endpoint": {test.was, test.endpoint}, "hypervisor": {test.wasHypervisor, test.hypervisor}} {
				diags := state.SetAttribute(ctx, chassis.AtName(attribute), values[0])
				diags.Append(plan.SetAttribute(ctx, chassis.AtName(attribute), values[1])...)
				if diags.HasError() {
					t.Fatal(diags)
				}
			}
			resp := planmodifier.StringResponse{PlanValue: unknown}
			keepChassisID{}.PlanModifyString(ctx, planmodifier.StringRequest{Path: chassis.AtName("id"), State: state, Plan: plan, StateValue: types.StringValue("97cd"), PlanValue: unknown}, &resp)
			if resp.Diagnostics.HasError() || resp.PlanValue.IsUnknown() == test.stays {
				t.Errorf("it plans %s, %v", resp.PlanValue, resp.Diagnostics)
			}
		})
	}
	resp := planmodifier.StringResponse{PlanValue: unknown}
	if (keepChassisID{}).PlanModifyString(ctx, planmodifier.StringRequest{StateValue: types.StringNull(), PlanValue: unknown}, &resp); !resp.PlanValue.IsUnknown() {
		t.Errorf("of a new chassis it plans %s", resp.PlanValue)
	}
}
