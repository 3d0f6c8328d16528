package dnszone_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/provider"
)

var (
	listOfText = tftypes.List{ElementType: tftypes.String}
	setsOfText = tftypes.Map{ElementType: listOfText}
)

// address is the records of a name: one address.
func address(value any) tftypes.Value {
	return tftypes.NewValue(setsOfText, map[string]tftypes.Value{
		"A": tftypes.NewValue(listOfText, []tftypes.Value{tftypes.NewValue(tftypes.String, value)}),
	})
}

// planner plans zones in process.
type planner struct {
	tfprotov6.ProviderServer
	zone tftypes.Object
}

func newPlanner(t testing.TB) planner {
	t.Helper()
	p := planner{ProviderServer: provider.Server("test")}
	schemas, err := p.GetProviderSchema(t.Context(), &tfprotov6.GetProviderSchemaRequest{})
	if err != nil {
		t.Fatal(err)
	}
	var ok bool
	if p.zone, ok = schemas.ResourceSchemas["virtcluster_dns_zone"].ValueType().(tftypes.Object); !ok {
		t.Fatal("a zone is no object")
	}
	return p
}

// config is a zone with these records.
func (p planner) config(records map[string]tftypes.Value) map[string]tftypes.Value {
	config := map[string]tftypes.Value{}
	for name, of := range p.zone.AttributeTypes {
		config[name] = tftypes.NewValue(of, nil)
	}
	for name, text := range map[string]string{"service_node": "ssh://root@10.0.0.100", "view": "internal", "name": "okd.example"} {
		config[name] = tftypes.NewValue(tftypes.String, text)
	}
	config["records"] = tftypes.NewValue(tftypes.Map{ElementType: setsOfText}, records)
	return config
}

// plan turns prior, where null is none, into config.
func (p planner) plan(t testing.TB, prior, proposed, config any) *tfprotov6.PlanResourceChangeResponse {
	t.Helper()
	var values [3]tfprotov6.DynamicValue
	for i, v := range []any{prior, proposed, config} {
		var err error
		if values[i], err = tfprotov6.NewDynamicValue(p.zone, tftypes.NewValue(p.zone, v)); err != nil {
			t.Fatal(err)
		}
	}
	resp, err := p.PlanResourceChange(t.Context(), &tfprotov6.PlanResourceChangeRequest{
		TypeName: "virtcluster_dns_zone", PriorState: &values[0], ProposedNewState: &values[1], Config: &values[2],
	})
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

// planned is what a plan without a complaint says.
func (p planner) planned(t testing.TB, resp *tfprotov6.PlanResourceChangeResponse) map[string]tftypes.Value {
	t.Helper()
	for _, d := range resp.Diagnostics {
		t.Fatalf("%s: %s: %s", d.Attribute, d.Summary, d.Detail)
	}
	object, err := resp.PlannedState.Unmarshal(p.zone)
	if err != nil {
		t.Fatal(err)
	}
	var values map[string]tftypes.Value
	if err := object.As(&values); err != nil {
		t.Fatal(err)
	}
	return values
}

func TestRecordsArePlannedAsTheyAre(t *testing.T) {
	p := newPlanner(t)
	config := p.config(map[string]tftypes.Value{"api": address("10.0.0.100"), "later": address(tftypes.UnknownValue)})
	if got, want := p.planned(t, p.plan(t, nil, config, config))["records"], config["records"]; !got.Equal(want) {
		t.Errorf("planned %s, want %s", got, want)
	}
}

// What is not known yet is no mistake, and hides none beside it.
func TestABadRecordBesideAnUnknownOne(t *testing.T) {
	p := newPlanner(t)
	config := p.config(map[string]tftypes.Value{"bad": address("10.0.0.300"), "later": address(tftypes.UnknownValue)})
	resp := p.plan(t, nil, config, config)
	if len(resp.Diagnostics) != 1 {
		t.Fatalf("%d diagnostics, want one", len(resp.Diagnostics))
	}
	d := resp.Diagnostics[0]
	if at := d.Attribute.String(); !strings.Contains(at, `"records"`) || !strings.Contains(at, `"bad"`) || !strings.Contains(d.Detail, "10.0.0.300") {
		t.Errorf("at %s: %s: %s", at, d.Summary, d.Detail)
	}
}

// BenchmarkPlanOfLargeZone plans a zone of 5,000 records, in process: what the provider itself costs.
func BenchmarkPlanOfLargeZone(b *testing.B) {
	p := newPlanner(b)
	records := map[string]tftypes.Value{}
	for i := range 5000 {
		records[fmt.Sprintf("h%d", i)] = address(fmt.Sprintf("10.1.%d.%d", i/250, i%250))
	}
	config := p.config(records)
	state := p.planned(b, p.plan(b, nil, config, config))
	state["id"], state["serial"] = tftypes.NewValue(tftypes.String, "ssh://root@10.0.0.100#internal/okd.example"), tftypes.NewValue(tftypes.Number, 1)
	b.Run("again", func(b *testing.B) {
		for b.Loop() {
			p.planned(b, p.plan(b, state, state, config))
		}
	})
	b.Run("new", func(b *testing.B) {
		for b.Loop() {
			p.planned(b, p.plan(b, nil, config, config))
		}
	})
}
