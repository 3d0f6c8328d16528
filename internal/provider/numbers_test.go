package provider_test

import (
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/provider"
)

// nulls is a value of a type with nothing in it but what is set.
func nulls(of tftypes.Type, set map[string]tftypes.Value) tftypes.Value {
	all := map[string]tftypes.Value{}
	for name, t := range of.(tftypes.Object).AttributeTypes {
		all[name] = tftypes.NewValue(t, nil)
		if v, ok := set[name]; ok {
			all[name] = v
		}
	}
	return tftypes.NewValue(of, all)
}

func TestANumberThatIsNotWholeIsNamedAtItsPlace(t *testing.T) {
	of := schemas(t).ResourceSchemas["virtcluster_haproxy"].ValueType().(tftypes.Object)
	health := of.AttributeTypes["health"]
	for name, c := range map[string]struct {
		set  map[string]tftypes.Value
		want string
	}{
		"root":   {map[string]tftypes.Value{"maxconn": tftypes.NewValue(tftypes.Number, 1.5)}, "write a whole number of at most 18 digits, not 1.5"},
		"large":  {map[string]tftypes.Value{"maxconn": tftypes.NewValue(tftypes.Number, 1e30)}, "not 1e+30"},
		"nested": {map[string]tftypes.Value{"health": nulls(health, map[string]tftypes.Value{"port": tftypes.NewValue(tftypes.Number, 1.5)})}, "health.port: write"},
	} {
		t.Run(name, func(t *testing.T) {
			config, err := tfprotov6.NewDynamicValue(of, nulls(of, c.set))
			if err != nil {
				t.Fatal(err)
			}
			resp, err := provider.Server("test").ValidateResourceConfig(t.Context(), &tfprotov6.ValidateResourceConfigRequest{TypeName: "virtcluster_haproxy", Config: &config})
			if err != nil {
				t.Fatal(err)
			}
			var all []string
			for _, d := range resp.Diagnostics {
				all = append(all, d.Attribute.String()+" "+d.Summary+" "+d.Detail)
			}
			if text := strings.Join(all, "\n"); !strings.Contains(text, c.want) || strings.Contains(text, "error in the provider") {
				t.Errorf("%s", text)
			}
		})
	}
}
