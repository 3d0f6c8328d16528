package externalbridge

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
)

func TestAListAndATupleOfTheSameInterfacesAreNoChange(t *testing.T) {
	list := func(names ...string) types.Dynamic { return types.DynamicValue(convert.List(names)) }
	tuple := func(names ...attr.Value) types.Dynamic {
		kinds := make([]attr.Type, len(names))
		for i := range kinds {
			kinds[i] = types.StringType
		}
		return types.DynamicValue(types.TupleValueMust(kinds, names))
	}
	eno1, eno2 := types.StringValue("eno1"), types.StringValue("eno2")
	for name, c := range map[string]struct {
		state, planned types.Dynamic
		kept           bool
	}{
		"list and tuple":     {list("eno1", "eno2"), tuple(eno1, eno2), true},
		"tuple and list":     {tuple(eno1, eno2), list("eno1", "eno2"), true},
		"another order":      {list("eno1", "eno2"), tuple(eno2, eno1), false},
		"one more":           {list("eno1"), tuple(eno1, eno2), false},
		"one is not known":   {list("eno1"), tuple(eno1, types.StringUnknown()), false},
		"nothing is known":   {list("eno1"), types.DynamicUnknown(), false},
		"nothing in state":   {types.DynamicNull(), tuple(eno1), false},
		"not to be read":     {list("eno1"), types.DynamicValue(eno1), false},
		"of the same spells": {tuple(eno1), tuple(eno1), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			resp := planmodifier.DynamicResponse{PlanValue: c.planned}
			keepMembers{}.PlanModifyDynamic(t.Context(), planmodifier.DynamicRequest{StateValue: c.state, PlanValue: c.planned}, &resp)
			want := c.planned
			if c.kept {
				want = c.state
			}
			if !resp.PlanValue.Equal(want) || resp.Diagnostics.HasError() {
				t.Errorf("%s: %s", name, resp.PlanValue)
			}
		})
	}
}
