package vip

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// A version that is left out is planned as the addresses need it, whatever the members have instead.
func TestAVersionThatIsLeftOutFollowsFromTheAddresses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		written   types.Int64
		addresses any
		want      types.Int64
	}{
		"IPv4":          {types.Int64Null(), []string{"10.0.0.9/24"}, types.Int64Value(2)},
		"IPv6":          {types.Int64Null(), []string{"fd00::9/64"}, types.Int64Value(3)},
		"not known":     {types.Int64Null(), types.ListUnknown(types.StringType), types.Int64Value(7)},
		"it is written": {types.Int64Value(7), []string{"10.0.0.9/24"}, types.Int64Value(7)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			plan := tfsdk.Plan{Schema: resourceSchema(t.Context())}
			attributes := map[string]tftypes.Value{}
			object, _ := plan.Schema.Type().TerraformType(t.Context()).(tftypes.Object)
			for name, kind := range object.AttributeTypes {
				attributes[name] = tftypes.NewValue(kind, nil)
			}
			plan.Raw = tftypes.NewValue(object, attributes)
			if diags := plan.SetAttribute(t.Context(), path.Root("addresses"), c.addresses); diags.HasError() {
				t.Fatal(diags)
			}
			resp := planmodifier.Int64Response{PlanValue: types.Int64Value(7)} // as a state has it
			versionByFamily{}.PlanModifyInt64(t.Context(), planmodifier.Int64Request{Plan: plan, ConfigValue: c.written, PlanValue: resp.PlanValue}, &resp)
			if resp.Diagnostics.HasError() || !resp.PlanValue.Equal(c.want) {
				t.Errorf("planned is %s, %v", resp.PlanValue, resp.Diagnostics)
			}
		})
	}
}
