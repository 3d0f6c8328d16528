package hostattr

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

func TestAMetricWaitsForTheGatewayThatIsKnownLater(t *testing.T) {
	t.Parallel()
	address := types.ListValueMust(types.StringType, []attr.Value{types.StringValue("10.0.0.5/24")})
	none, unknown := types.ListNull(types.StringType), types.ListUnknown(types.StringType)
	for name, c := range map[string]struct {
		gateway  types.String
		gateways types.List
		metric   int
	}{
		"no gateway":         {types.StringNull(), none, 100},
		"a gateway":          {types.StringValue("10.0.0.1"), none, 100},
		"one known later":    {types.StringUnknown(), none, 0},
		"all known later":    {types.StringNull(), unknown, 0},
		"an element of them": {types.StringNull(), types.ListValueMust(types.StringType, []attr.Value{types.StringUnknown()}), 0},
	} {
		t.Run(name, func(t *testing.T) {
			m := Addressing{Mode: types.StringValue(Static), Addresses: address, Gateway: c.gateway, Gateways: c.gateways, Metric: types.Int64Value(100), Nameservers: none, Search: none}
			a, _, diags := m.Spec()
			if diags.HasError() || a.Metric != c.metric {
				t.Errorf("%s: metric %d, want %d (%v)", name, a.Metric, c.metric, diags)
			}
		})
	}
}
