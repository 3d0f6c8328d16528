package dnszone_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/provider"
)

// BenchmarkPlanOfLargeZone plans a zone of 5,000 records from nothing, in process: what the provider itself costs.
func BenchmarkPlanOfLargeZone(b *testing.B) {
	ctx := context.Background()
	server, err := providerserver.NewProtocol6WithError(provider.New("bench")())()
	if err != nil {
		b.Fatal(err)
	}
	schemas, err := server.GetProviderSchema(ctx, &tfprotov6.GetProviderSchemaRequest{})
	if err != nil {
		b.Fatal(err)
	}
	zone := schemas.ResourceSchemas["virtcluster_dns_zone"].ValueType()
	config := map[string]tftypes.Value{}
	for name, t := range zone.(tftypes.Object).AttributeTypes {
		config[name] = tftypes.NewValue(t, nil)
	}
	for name, text := range map[string]string{"service_node": "ssh://root@10.0.0.100", "view": "internal", "name": "big.example"} {
		config[name] = tftypes.NewValue(tftypes.String, text)
	}
	list := tftypes.List{ElementType: tftypes.String}
	sets := tftypes.Map{ElementType: list}
	records := map[string]tftypes.Value{}
	for i := range 5000 {
		values := tftypes.NewValue(list, []tftypes.Value{tftypes.NewValue(tftypes.String, fmt.Sprintf("10.1.%d.%d", i/250, i%250))})
		records[fmt.Sprintf("h%d", i)] = tftypes.NewValue(sets, map[string]tftypes.Value{"A": values})
	}
	config["records"] = tftypes.NewValue(tftypes.Map{ElementType: sets}, records)
	planned, err := tfprotov6.NewDynamicValue(zone, tftypes.NewValue(zone, config))
	if err != nil {
		b.Fatal(err)
	}
	null, err := tfprotov6.NewDynamicValue(zone, tftypes.NewValue(zone, nil))
	if err != nil {
		b.Fatal(err)
	}
	resp, err := server.PlanResourceChange(ctx, &tfprotov6.PlanResourceChangeRequest{
		TypeName: "virtcluster_dns_zone", PriorState: &null, ProposedNewState: &planned, Config: &planned,
	})
	if err != nil || len(resp.Diagnostics) > 0 {
		b.Fatal(err, resp.Diagnostics)
	}
	config["records"] = tftypes.NewValue(tftypes.Map{ElementType: sets}, nil)
	state, err := resp.PlannedState.Unmarshal(zone)
	if err != nil {
		b.Fatal(err)
	}
	var attributes map[string]tftypes.Value
	if err := state.As(&attributes); err != nil {
		b.Fatal(err)
	}
	attributes["id"], attributes["serial"] = tftypes.NewValue(tftypes.String, "ssh://root@10.0.0.100#internal/big.example"), tftypes.NewValue(tftypes.Number, 1)
	prior, err := tfprotov6.NewDynamicValue(zone, tftypes.NewValue(zone, attributes))
	if err != nil {
		b.Fatal(err)
	}
	b.Run("again", func(b *testing.B) {
		for b.Loop() {
			resp, err := server.PlanResourceChange(ctx, &tfprotov6.PlanResourceChangeRequest{
				TypeName: "virtcluster_dns_zone", PriorState: &prior, ProposedNewState: &prior, Config: &planned,
			})
			if err != nil || len(resp.Diagnostics) > 0 {
				b.Fatal(err, resp.Diagnostics)
			}
		}
	})
	b.Run("new", func(b *testing.B) {
		for b.Loop() {
			resp, err := server.PlanResourceChange(ctx, &tfprotov6.PlanResourceChangeRequest{
				TypeName: "virtcluster_dns_zone", PriorState: &null, ProposedNewState: &planned, Config: &planned,
			})
			if err != nil || len(resp.Diagnostics) > 0 {
				b.Fatal(err, resp.Diagnostics)
			}
		}
	})
}
