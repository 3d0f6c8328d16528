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

func TestNameServersWaitForTheAddressesThatAreKnownLater(t *testing.T) {
	t.Parallel()
	address, none := types.StringValue("10.0.0.5/24"), types.ListNull(types.StringType)
	list := func(values ...attr.Value) types.List { return types.ListValueMust(types.StringType, values) }
	for name, c := range map[string]struct {
		mode      types.String
		addresses types.List
		servers   int
	}{
		"addresses":                     {types.StringValue(Static), list(address), 1},
		"by DHCP":                       {types.StringValue(DHCP), none, 1},
		"all known later":               {types.StringValue(Static), types.ListUnknown(types.StringType), 0},
		"an element of them":            {types.StringValue(Static), list(address, types.StringUnknown()), 0},
		"where they come from, as well": {types.StringUnknown(), none, 0},
	} {
		t.Run(name, func(t *testing.T) {
			m := Addressing{Mode: c.mode, Addresses: c.addresses, Gateways: none, Nameservers: list(types.StringValue("10.0.0.2")), Search: none}
			a, _, diags := m.Spec()
			if diags.HasError() || len(a.Nameservers) != c.servers {
				t.Errorf("name servers %v, want %d (%v)", a.Nameservers, c.servers, diags)
			}
			m.Nameservers = list(types.StringValue("no address"))
			if _, _, diags := m.Spec(); !diags.HasError() {
				t.Error("a name server that is no address is taken")
			}
		})
	}
}
