package dnszone_test

import (
	"fmt"
	"maps"
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
	t.Parallel()
	p := newPlanner(t)
	config := p.config(map[string]tftypes.Value{"api": address("10.0.0.100"), "later": address(tftypes.UnknownValue)})
	if got, want := p.planned(t, p.plan(t, nil, config, config))["records"], config["records"]; !got.Equal(want) {
		t.Errorf("planned %s, want %s", got, want)
	}
}

// What is not known yet is no mistake, and hides none beside it.
func TestABadRecordBesideAnUnknownOne(t *testing.T) {
	t.Parallel()
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

// An import finds no records, whether they are left out or written empty.
func TestRecordsAreWrittenEmptyOverNone(t *testing.T) {
	t.Parallel()
	p := newPlanner(t)
	config := p.config(nil)
	delete(config, "records")
	config["records"] = tftypes.NewValue(tftypes.Map{ElementType: setsOfText}, nil)
	state := p.planned(t, p.plan(t, nil, config, config))
	state["id"], state["serial"] = tftypes.NewValue(tftypes.String, "ssh://root@10.0.0.100#internal/okd.example"), tftypes.NewValue(tftypes.Number, 1)
	state["serving"] = tftypes.NewValue(tftypes.Bool, true)
	config["records"] = tftypes.NewValue(tftypes.Map{ElementType: setsOfText}, map[string]tftypes.Value{})
	proposed := map[string]tftypes.Value{}
	for name, v := range state {
		proposed[name] = v
	}
	proposed["records"] = config["records"]
	if got := p.planned(t, p.plan(t, state, proposed, config))["records"]; !got.Equal(config["records"]) {
		t.Errorf("planned are %s", got)
	}
}

// What was written empty and is left out then, or became so by an import, is no change.
func TestEmptyRecordsAreLeftOut(t *testing.T) {
	t.Parallel()
	p := newPlanner(t)
	empty := map[string]tftypes.Value{}
	config := p.config(empty)
	config["pointers"] = tftypes.NewValue(tftypes.Map{ElementType: tftypes.String}, nil)
	state := p.planned(t, p.plan(t, nil, config, config))
	state["id"], state["serial"] = tftypes.NewValue(tftypes.String, "ssh://root@10.0.0.100#internal/okd.example"), tftypes.NewValue(tftypes.Number, 1)
	state["serving"] = tftypes.NewValue(tftypes.Bool, true)
	config["records"] = tftypes.NewValue(tftypes.Map{ElementType: setsOfText}, nil)
	for name, got := range p.planned(t, p.plan(t, state, state, config)) {
		if !got.Equal(state[name]) {
			t.Errorf("%s is planned as %s, want %s as before", name, got, state[name])
		}
	}
}

// forwarding is a zone without records that questions go from, to a server.
func (p planner) forwarding() map[string]tftypes.Value {
	config := p.config(nil)
	config["records"] = tftypes.NewValue(tftypes.Map{ElementType: setsOfText}, nil)
	config["forward"] = tftypes.NewValue(p.zone.AttributeTypes["forward"], map[string]tftypes.Value{
		"servers": tftypes.NewValue(listOfText, []tftypes.Value{tftypes.NewValue(tftypes.String, "10.0.0.53")}), "only": tftypes.NewValue(tftypes.Bool, true),
	})
	return config
}

// A primary zone becomes one that forwards: what only a primary one has goes from its state.
func TestForwardIsAddedToAZone(t *testing.T) {
	t.Parallel()
	p := newPlanner(t)
	config := p.forwarding()
	primary := maps.Clone(config)
	primary["forward"] = tftypes.NewValue(p.zone.AttributeTypes["forward"], nil)
	state := p.planned(t, p.plan(t, nil, primary, primary))
	state["id"], state["serial"] = tftypes.NewValue(tftypes.String, "ssh://root@10.0.0.100#internal/okd.example"), tftypes.NewValue(tftypes.Number, 1)
	state["serving"] = tftypes.NewValue(tftypes.Bool, true)
	proposed := maps.Clone(state)
	proposed["forward"] = config["forward"]
	got := p.planned(t, p.plan(t, state, proposed, config))
	if !got["soa"].IsNull() || !got["serial"].IsNull() || !got["forward"].Equal(config["forward"]) {
		t.Errorf("planned are soa %s, serial %s and forward %s", got["soa"], got["serial"], got["forward"])
	}
}

// What only a primary zone has is refused beside forward, at its place.
func TestNothingOfAPrimaryZoneIsBesideForward(t *testing.T) {
	t.Parallel()
	p := newPlanner(t)
	soa := map[string]tftypes.Value{}
	for name, kind := range p.zone.AttributeTypes["soa"].(tftypes.Object).AttributeTypes {
		soa[name] = tftypes.NewValue(kind, nil)
	}
	for name, v := range map[string]tftypes.Value{
		"soa": tftypes.NewValue(p.zone.AttributeTypes["soa"], soa), "ttl": tftypes.NewValue(tftypes.Number, 60),
		"name_servers": tftypes.NewValue(listOfText, []tftypes.Value{tftypes.NewValue(tftypes.String, "ns1")}), "allow_transfer": tftypes.NewValue(listOfText, []tftypes.Value{}),
	} {
		t.Run(name, func(t *testing.T) {
			config := p.forwarding()
			config[name] = v
			all := p.plan(t, nil, config, config).Diagnostics
			if len(all) != 1 || !strings.Contains(all[0].Attribute.String(), name) || all[0].Summary != "Not for a forward zone" {
				t.Errorf("%s: %v", name, all)
			}
		})
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
