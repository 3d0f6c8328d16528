package provider_test

import (
	"context"
	"slices"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/provider"
)

// With a timeout of nothing every later plan and destroy fails, and nobody gets out of that.
func TestTimeoutsLeaveSomeTimeInEveryResource(t *testing.T) {
	t.Parallel()
	server := provider.Server("test")
	checked := 0
	for name, s := range schemas(t).ResourceSchemas {
		block := slices.IndexFunc(s.Block.Attributes, func(a *tfprotov6.SchemaAttribute) bool { return a.Name == "timeouts" && a.NestedType != nil })
		if block < 0 {
			continue
		}
		kind := s.ValueType().(tftypes.Object)
		operations := kind.AttributeTypes["timeouts"].(tftypes.Object)
		if _, one := operations.AttributeTypes["create"]; !one {
			continue // a daemon's own
		}
		for operation := range operations.AttributeTypes {
			for duration, valid := range map[string]bool{"0s": false, "-1s": false, "0h0m": false, "1ms": true, "10m": true} {
				t.Run(duration, func(t *testing.T) {
					checked++
					if refused := refusesTimeout(t, server, name, kind, operations, operation, duration); refused == valid {
						t.Errorf("%s: timeouts.%s = %q: refused %t", name, operation, duration, refused)
					}
				})
			}
		}
	}
	if checked < 4*5 {
		t.Errorf("only %d were checked", checked)
	}
}

// refusesTimeout says whether a configuration with nothing but a timeout is refused for that.
func refusesTimeout(t *testing.T, server tfprotov6.ProviderServer, name string, kind, operations tftypes.Object, operation, duration string) bool {
	t.Helper()
	values, limits := map[string]tftypes.Value{}, map[string]tftypes.Value{}
	for attribute, of := range kind.AttributeTypes {
		values[attribute] = tftypes.NewValue(of, nil)
	}
	for attribute, of := range operations.AttributeTypes {
		limits[attribute] = tftypes.NewValue(of, nil)
	}
	limits[operation] = tftypes.NewValue(tftypes.String, duration)
	values["timeouts"] = tftypes.NewValue(operations, limits)
	config, err := tfprotov6.NewDynamicValue(kind, tftypes.NewValue(kind, values))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := server.ValidateResourceConfig(context.Background(), &tfprotov6.ValidateResourceConfigRequest{TypeName: name, Config: &config})
	if err != nil {
		t.Fatal(err)
	}
	at := tftypes.NewAttributePath().WithAttributeName("timeouts").WithAttributeName(operation)
	return slices.ContainsFunc(resp.Diagnostics, func(d *tfprotov6.Diagnostic) bool { return d.Attribute.Equal(at) })
}
