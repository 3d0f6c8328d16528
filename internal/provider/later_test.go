package provider_test

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/provider"
)

// What is not known yet, as a whole or in a part, is refused by no plan.
func TestWhatIsNotKnownYetIsNotRefused(t *testing.T) {
	t.Parallel()
	const machine = `"service_node": "ssh://root@10.0.0.100", `
	root := tftypes.NewAttributePath().WithAttributeName
	for name, c := range map[string]struct {
		kind, config string
		unknown      *tftypes.AttributePath
		follows      string // an attribute that is not known then either
	}{
		"a server":       {"haproxy_backend", `{` + machine + `"name": "b", "servers": {"a": {"address": "10.0.0.1", "port": 80}}}`, root("servers").WithElementKeyString("a"), ""},
		"a bind":         {"haproxy_frontend", `{` + machine + `"name": "f", "default_backend": "b", "binds": [{"address": "10.0.0.250", "port": 80}]}`, root("binds").WithElementKeyInt(0), ""},
		"a port":         {"exposed_service", `{` + machine + `"name": "e", "type": "load_balancer", "address": "10.0.0.9", "ports": {"p": {"port": 80}}, "targets": ["10.0.0.1"]}`, root("ports").WithElementKeyString("p"), ""},
		"a node port":    {"exposed_service", `{` + machine + `"name": "e", "type": "node_port", "ports": {"p": {}}, "targets": ["10.0.0.1"]}`, root("ports").WithElementKeyString("p"), ""},
		"a member":       {"vip", `{"name": "v", "addresses": ["10.0.0.9/24"], "members": {"a": {"service_node": "ssh://root@a", "interface": "eth0"}, "b": {"service_node": "ssh://root@b", "interface": "eth0"}}}`, root("members").WithElementKeyString("b"), ""},
		"a name by DHCP": {"dhcp_reservation", `{"network": "n", "ip": "fd20::5", "hostname": "h"}`, root("hostname"), "id"},
		"an interface":   {"external_bridge", `{"host": "local:", "name": "accbr1", "interfaces": [{"interface": "lo"}]}`, root("interfaces").WithElementKeyInt(0).WithAttributeName("interface"), "active_backend"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := provider.Server("test")
			configure(t, server, `{"uri": "test:///nothing"}`)
			kind := "virtcluster_" + c.kind
			of := schemas(t).ResourceSchemas[kind].ValueType()
			whole, err := tftypes.ValueFromJSONWithOpts([]byte(c.config), of, tftypes.ValueFromJSONOpts{})
			if err != nil {
				t.Fatal(err)
			}
			found := false
			config, err := tftypes.Transform(whole, func(at *tftypes.AttributePath, v tftypes.Value) (tftypes.Value, error) {
				if !at.Equal(c.unknown) {
					return v, nil
				}
				found = true
				return tftypes.NewValue(v.Type(), tftypes.UnknownValue), nil
			})
			if err != nil || !found {
				t.Fatalf("%v, found %t", err, found)
			}
			planned, err := server.PlanResourceChange(t.Context(), &tfprotov6.PlanResourceChangeRequest{
				TypeName: kind, PriorState: dynamic(t, of, tftypes.NewValue(of, nil)), ProposedNewState: dynamic(t, of, config), Config: dynamic(t, of, config),
			})
			if err != nil {
				t.Fatal(err)
			}
			if all := onlyErrors(planned.Diagnostics); len(all) > 0 {
				t.Fatalf("refused: %v", texts(all))
			}
			state, err := planned.PlannedState.Unmarshal(of)
			if err != nil {
				t.Fatal(err)
			}
			at, _, err := tftypes.WalkAttributePath(state, c.unknown)
			if v, is := at.(tftypes.Value); err != nil || !is || v.IsKnown() {
				t.Errorf("planned is %v, %v", at, err)
			}
			if c.follows == "" {
				return
			}
			if v, _, err := tftypes.WalkAttributePath(state, root(c.follows)); err != nil || v.(tftypes.Value).IsKnown() {
				t.Errorf("%s is %v, %v", c.follows, v, err)
			}
		})
	}
}

// Another machine that asks is a change in place: what is made anew may be asked before it goes.
func TestWhoAsksChangesInPlace(t *testing.T) {
	t.Parallel()
	server, known := provider.Server("test"), schemas(t)
	configure(t, server, `{"uri": "test:///nothing"}`)
	of := known.ResourceSchemas["virtcluster_readiness"].ValueType()
	object := func(id, from string) *tfprotov6.DynamicValue {
		v, err := tftypes.ValueFromJSONWithOpts([]byte(`{"id": `+id+`, "tcp": "10.0.0.1:1", "from": "`+from+`", "insecure": false, "interval": "5s", "timeout": "10m", "when": "destroy"}`), of, tftypes.ValueFromJSONOpts{})
		if err != nil {
			t.Fatal(err)
		}
		return dynamic(t, of, v)
	}
	const id = `"tcp://10.0.0.1:1#ssh://root@a"`
	identity := tftypes.Object{AttributeTypes: map[string]tftypes.Type{"id": tftypes.String}}
	planned, err := server.PlanResourceChange(t.Context(), &tfprotov6.PlanResourceChangeRequest{
		TypeName: "virtcluster_readiness", PriorState: object(id, "ssh://root@a"), ProposedNewState: object(id, "ssh://root@b"), Config: object("null", "ssh://root@b"),
		PriorIdentity: &tfprotov6.ResourceIdentityData{IdentityData: dynamic(t, identity, tftypes.NewValue(identity, map[string]tftypes.Value{"id": tftypes.NewValue(tftypes.String, "tcp://10.0.0.1:1#ssh://root@a")}))},
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(planned.Diagnostics) > 0 || len(planned.RequiresReplace) > 0 {
		t.Fatalf("%v, made anew for %v", texts(planned.Diagnostics), planned.RequiresReplace)
	}
	state, err := planned.PlannedState.Unmarshal(of)
	if err != nil {
		t.Fatal(err)
	}
	if v, _, err := tftypes.WalkAttributePath(state, tftypes.NewAttributePath().WithAttributeName("id")); err != nil || v.(tftypes.Value).IsKnown() {
		t.Errorf("the id is %v, %v", v, err)
	}
}
