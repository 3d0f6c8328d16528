package crud

import (
	"context"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

func TestWhatIsLeftOutIsNeverAChangeFromNullOrEmpty(t *testing.T) {
	t.Parallel()
	text := types.StringType
	some := []attr.Value{types.StringValue("a")}
	null, empty, full := types.ListNull(text), types.ListValueMust(text, nil), types.ListValueMust(text, some)
	for name, c := range map[string]struct{ config, state, planned, want types.List }{
		"new":                          {null, null, types.ListUnknown(text), null},
		"null in state":                {null, null, null, null},
		"empty in state":               {null, empty, types.ListUnknown(text), empty},
		"it was taken out":             {null, full, full, null},
		"it was written":               {full, empty, full, full},
		"it was written empty":         {empty, null, empty, empty},
		"what is written is not known": {types.ListUnknown(text), empty, types.ListUnknown(text), types.ListUnknown(text)},
	} {
		t.Run(name, func(t *testing.T) {
			list := planmodifier.ListResponse{PlanValue: c.planned}
			LeftOut{}.PlanModifyList(context.Background(), planmodifier.ListRequest{ConfigValue: c.config, StateValue: c.state, PlanValue: c.planned}, &list)
			if !list.PlanValue.Equal(c.want) {
				t.Errorf("planned is %s, want %s", list.PlanValue, c.want)
			}
			m := planmodifier.MapResponse{PlanValue: asMap(c.planned)}
			LeftOut{}.PlanModifyMap(context.Background(), planmodifier.MapRequest{ConfigValue: asMap(c.config), StateValue: asMap(c.state), PlanValue: asMap(c.planned)}, &m)
			if !m.PlanValue.Equal(asMap(c.want)) {
				t.Errorf("planned is %s, want %s", m.PlanValue, asMap(c.want))
			}
		})
	}
}

// asMap is a map that is as full as the list.
func asMap(l types.List) types.Map {
	switch {
	case l.IsNull():
		return types.MapNull(types.StringType)
	case l.IsUnknown():
		return types.MapUnknown(types.StringType)
	}
	values := map[string]attr.Value{}
	for _, v := range l.Elements() {
		values["key"] = v
	}
	return types.MapValueMust(types.StringType, values)
}
