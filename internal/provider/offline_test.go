package provider_test

import (
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/provider"
)

// offline is a provider that asks nothing. Its key file does not exist either.
func offline(t *testing.T) tfprotov6.ProviderServer {
	t.Helper()
	server := provider.Server("test")
	if all := configure(t, server, `{"offline": true, "uri": "qemu+ssh://nowhere.example/system", "ssh": {"private_key_file": "/nowhere/key"}}`); len(all) > 0 {
		t.Fatalf("offline, the provider says %v", texts(all))
	}
	return server
}

func dynamic(t *testing.T, of tftypes.Type, value tftypes.Value) *tfprotov6.DynamicValue {
	t.Helper()
	v, err := tfprotov6.NewDynamicValue(of, value)
	if err != nil {
		t.Fatal(err)
	}
	return &v
}

// texted gives each attribute that is a text one, so that an object has a name.
func texted(of tftypes.Type) map[string]tftypes.Value {
	all := map[string]tftypes.Value{}
	for name, t := range of.(tftypes.Object).AttributeTypes {
		if t.Is(tftypes.String) {
			all[name] = tftypes.NewValue(t, "x")
		}
	}
	return all
}

func TestOfflineNothingIsMadeChangedRemovedImportedOrRead(t *testing.T) {
	t.Parallel()
	server := offline(t)
	refused := func(what string, all []*tfprotov6.Diagnostic, err error) {
		t.Helper()
		if err != nil || len(all) != 1 || !strings.Contains(all[0].Detail, "the provider is offline") || !strings.Contains(all[0].Detail, "Take `offline` out") {
			t.Errorf("%s: %v, %v", what, texts(all), err)
		}
	}
	for kind, s := range schemas(t).ResourceSchemas {
		of := s.ValueType()
		something, none := dynamic(t, of, nulls(of, nil)), dynamic(t, of, tftypes.NewValue(of, nil))
		for verb, c := range map[string]struct{ prior, planned *tfprotov6.DynamicValue }{
			"create": {none, something}, "update": {something, something}, "delete": {something, none},
		} {
			t.Run(verb, func(t *testing.T) {
				applied, err := server.ApplyResourceChange(t.Context(), &tfprotov6.ApplyResourceChangeRequest{TypeName: kind, PriorState: c.prior, PlannedState: c.planned, Config: something})
				refused(verb+" "+kind, applied.Diagnostics, err)
				if len(applied.Diagnostics) == 1 && !strings.HasPrefix(applied.Diagnostics[0].Summary, "Cannot "+verb+" ") {
					t.Errorf("%s %s: %s", verb, kind, applied.Diagnostics[0].Summary)
				}
			})
		}
		read, err := server.ReadResource(t.Context(), &tfprotov6.ReadResourceRequest{TypeName: kind, CurrentState: dynamic(t, of, nulls(of, texted(of)))})
		if err != nil || len(read.Diagnostics) > 0 {
			t.Errorf("%s: a refresh says %v, %v", kind, texts(read.Diagnostics), err)
		}
		if kind != "virtcluster_pod_network" { // its import asks nobody
			imported, err := server.ImportResourceState(t.Context(), &tfprotov6.ImportResourceStateRequest{TypeName: kind, ID: "ssh://root@10.0.0.1/x"})
			refused("import "+kind, imported.Diagnostics, err)
		}
	}
	for kind, s := range schemas(t).DataSourceSchemas {
		if kind == "virtcluster_topology" {
			continue // it asks nobody
		}
		of := s.ValueType()
		read, err := server.ReadDataSource(t.Context(), &tfprotov6.ReadDataSourceRequest{TypeName: kind, Config: dynamic(t, of, nulls(of, nil))})
		refused("read "+kind, read.Diagnostics, err)
	}
}

// A host key that nobody wrote down is only known to the machine. The checks need something to compare by.
func TestOfflineAServiceNodeIsKnownWithoutItsHostKey(t *testing.T) {
	t.Parallel()
	planned := func(server tfprotov6.ProviderServer) tftypes.Value {
		of := schemas(t).ResourceSchemas["virtcluster_service_node"].ValueType()
		written := dynamic(t, of, nulls(of, map[string]tftypes.Value{
			"endpoint": tftypes.NewValue(tftypes.String, "ssh://root@10.0.0.100"), "services": tftypes.NewValue(tftypes.Set{ElementType: tftypes.String}, []tftypes.Value{tftypes.NewValue(tftypes.String, "bind")}),
			"id": tftypes.NewValue(tftypes.String, tftypes.UnknownValue),
		}))
		resp, err := server.PlanResourceChange(t.Context(), &tfprotov6.PlanResourceChangeRequest{TypeName: "virtcluster_service_node", PriorState: dynamic(t, of, tftypes.NewValue(of, nil)), ProposedNewState: written, Config: written})
		if err != nil || len(resp.Diagnostics) > 0 {
			t.Fatalf("%v, %v", texts(resp.Diagnostics), err)
		}
		value, err := resp.PlannedState.Unmarshal(of)
		if err != nil {
			t.Fatal(err)
		}
		var attributes map[string]tftypes.Value
		if err := value.As(&attributes); err != nil {
			t.Fatal(err)
		}
		return attributes["id"]
	}
	if id := planned(offline(t)); !id.IsKnown() || !id.Equal(tftypes.NewValue(tftypes.String, "ssh://root@10.0.0.100")) {
		t.Errorf("offline: %s", id)
	}
	online := provider.Server("test")
	configure(t, online, `{"uri": "test:///nothing"}`)
	if id := planned(online); id.IsKnown() {
		t.Errorf("not offline: %s", id)
	}
}

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
