package externalbridge_test

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/provider"
)

// Interfaces were a list of names in the first version.
func TestListOfNamesInAStateOfTheFirstVersionIsRead(t *testing.T) {
	server := provider.Server("test")
	schemas, err := server.GetProviderSchema(t.Context(), &tfprotov6.GetProviderSchemaRequest{})
	if err != nil {
		t.Fatal(err)
	}
	resp, err := server.UpgradeResourceState(t.Context(), &tfprotov6.UpgradeResourceStateRequest{
		TypeName: "virtcluster_external_bridge", Version: 0,
		RawState: &tfprotov6.RawState{JSON: []byte(`{"id": "kiextbr0", "name": "kiextbr0", "interfaces": ["eno1", "eno2"], "stp": true, "mtu": 1400, "backend": "runtime", "rollback_timeout": 60}`)},
	})
	if err != nil || len(resp.Diagnostics) > 0 {
		t.Fatalf("%v %v", err, resp.Diagnostics)
	}
	var all map[string]tftypes.Value
	v, err := resp.UpgradedState.Unmarshal(schemas.ResourceSchemas["virtcluster_external_bridge"].ValueType())
	if err == nil {
		err = v.As(&all)
	}
	if err != nil {
		t.Fatal(err)
	}
	names := []tftypes.Value{tftypes.NewValue(tftypes.String, "eno1"), tftypes.NewValue(tftypes.String, "eno2")}
	for name, want := range map[string]tftypes.Value{
		"interfaces":     tftypes.NewValue(tftypes.List{ElementType: tftypes.String}, names),
		"stp":            tftypes.NewValue(tftypes.Bool, true),
		"vlan_filtering": tftypes.NewValue(tftypes.Bool, false),
		"mtu":            tftypes.NewValue(tftypes.Number, 1400),
	} {
		if !all[name].Equal(want) {
			t.Errorf("%s: %s, want %s", name, all[name], want)
		}
	}
}
