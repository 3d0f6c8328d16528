package provider_test

import (
	"fmt"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// Which of a machine's addresses are the cluster's own is nothing that the provider knows. It warned of OpenShift's machine
// configuration at every other one, at each plan, and of the cluster's own among them: the documentation says it instead.
func TestNoPlanWarnsOfMachineConfigurationAtAnAddress(t *testing.T) {
	t.Parallel()
	const kind = "virtcluster_haproxy_frontend"
	of := schemas(t).ResourceSchemas[kind].ValueType()
	for _, bind := range []string{`"port": 22623`, `"port": 22623, "address": "10.0.0.250", "transparent": true`, `"port": 22623, "address": "203.0.113.5"`} {
		t.Run(bind, func(t *testing.T) {
			server := offline(t)
			config := fmt.Sprintf(`{"service_node": "ssh://root@10.0.0.100", "name": "machine-config", "mode": "tcp", "binds": [{%s}]}`, bind)
			value, err := tftypes.ValueFromJSONWithOpts([]byte(config), of, tftypes.ValueFromJSONOpts{})
			if err != nil {
				t.Fatal(err)
			}
			written, none := dynamic(t, of, value), dynamic(t, of, tftypes.NewValue(of, nil))
			valid, err := server.ValidateResourceConfig(t.Context(), &tfprotov6.ValidateResourceConfigRequest{TypeName: kind, Config: written})
			if err != nil {
				t.Fatal(err)
			}
			planned, err := server.PlanResourceChange(t.Context(), &tfprotov6.PlanResourceChangeRequest{TypeName: kind, PriorState: none, ProposedNewState: written, Config: written})
			if err != nil {
				t.Fatal(err)
			}
			if said := texts(append(valid.Diagnostics, planned.Diagnostics...)); len(said) > 0 {
				t.Errorf("a bind of %s: %q", bind, said)
			}
		})
	}
}
