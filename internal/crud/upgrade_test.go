package crud_test

import (
	"errors"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
)

// upgrades of a box: its name was its label once, and its size a text.
var upgrades = []crud.Upgrade{
	func(attributes map[string]any) error {
		if label, ok := attributes["label"]; ok {
			attributes["name"] = label
		}
		return nil
	},
	func(attributes map[string]any) error {
		if attributes["size"] == "huge" {
			return errors.New("no box is huge any more")
		}
		return nil
	},
}

func TestStatesAndIdentitiesOfVersionsBeforeAreUpgraded(t *testing.T) {
	s, server := serve(t)
	s.upgrades = upgrades
	schemas, err := server.GetProviderSchema(t.Context(), &tfprotov6.GetProviderSchemaRequest{})
	if err != nil || schemas.ResourceSchemas["toy_box"].Version != 2 {
		t.Fatalf("version %d, %v", schemas.ResourceSchemas["toy_box"].Version, err)
	}
	for version, stored := range []string{
		`{"id": "shelf#a", "label": "a", "size": 9007199254740993, "gone": {"x": [1]}}`,
		`{"id": "shelf#a", "name": "a", "size": "9007199254740993"}`,
		`{"id": "shelf#a", "name": "a", "size": 9007199254740993}`,
	} {
		resp, err := server.UpgradeResourceState(t.Context(), &tfprotov6.UpgradeResourceStateRequest{
			TypeName: "toy_box", Version: int64(version), RawState: &tfprotov6.RawState{JSON: []byte(stored)},
		})
		if err != nil || len(resp.Diagnostics) > 0 {
			t.Fatalf("version %d: %v %s", version, err, text(resp.Diagnostics))
		}
		got := state(t, resp.UpgradedState)
		if !got["name"].Equal(tftypes.NewValue(tftypes.String, "a")) || !got["size"].Equal(tftypes.NewValue(tftypes.Number, 9007199254740993)) {
			t.Errorf("version %d: %s", version, got)
		}
	}
	identity, err := server.UpgradeResourceIdentity(t.Context(), &tfprotov6.UpgradeResourceIdentityRequest{
		TypeName: "toy_box", Version: 0, RawIdentity: &tfprotov6.RawState{JSON: []byte(`{"label": "a"}`)},
	})
	if err != nil || len(identity.Diagnostics) > 0 {
		t.Fatalf("%v %s", err, text(identity.Diagnostics))
	}
	of := tftypes.Object{AttributeTypes: map[string]tftypes.Type{"name": tftypes.String}}
	got, err := identity.UpgradedIdentity.IdentityData.Unmarshal(of)
	if err != nil || !got.Equal(tftypes.NewValue(of, map[string]tftypes.Value{"name": tftypes.NewValue(tftypes.String, "a")})) {
		t.Errorf("identity %s, %v", got, err)
	}
}

func TestAStateThatCannotBeUpgradedSaysWhatToDo(t *testing.T) {
	s, server := serve(t)
	s.upgrades = upgrades
	resp, err := server.UpgradeResourceState(t.Context(), &tfprotov6.UpgradeResourceStateRequest{
		TypeName: "toy_box", Version: 1, RawState: &tfprotov6.RawState{JSON: []byte(`{"id": "shelf#a", "name": "a", "size": "huge"}`)},
	})
	const want = "Cannot upgrade the state of a box: It is of version 1 of virtcluster_box, and this provider has version 2: no box is huge any more. " +
		"Take it out of the state with `terraform state rm`, and import it. (at )\n"
	if err != nil || text(resp.Diagnostics) != want {
		t.Errorf("%v %s", err, text(resp.Diagnostics))
	}
}
