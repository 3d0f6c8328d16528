package provider

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// A provider of before is what somebody goes back to, and its state has been written by a newer one: attributes that it does not know are left
// out, and nothing else is lost.
func TestAStateThatANewerProviderWroteIsRead(t *testing.T) {
	t.Parallel()
	server := Server("test")
	all, err := server.GetProviderSchema(t.Context(), &tfprotov6.GetProviderSchemaRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for name, s := range all.ResourceSchemas {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if s.Version != 0 {
				t.Errorf("its state has version %d: a provider with 0 does not read it, so say so in the guide on upgrading, and write here what it makes of version 0", s.Version)
			}
			state, err := json.Marshal(map[string]any{"id": "its id", "of_a_newer_version": map[string]any{"x": []int{1}}})
			if err != nil {
				t.Fatal(err)
			}
			resp, err := server.UpgradeResourceState(t.Context(), &tfprotov6.UpgradeResourceStateRequest{TypeName: name, RawState: &tfprotov6.RawState{JSON: state}})
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range resp.Diagnostics {
				t.Errorf("%s: %s", d.Summary, d.Detail)
			}
			if resp.UpgradedState == nil {
				t.Fatal("there is no state")
			}
			value, err := resp.UpgradedState.Unmarshal(s.ValueType())
			if err != nil {
				t.Fatal(err)
			}
			var attributes map[string]tftypes.Value
			if err := value.As(&attributes); err != nil {
				t.Fatal(err)
			}
			if id := ""; attributes["id"].As(&id) != nil || id != "its id" {
				t.Errorf("its id is %s", attributes["id"])
			}
		})
	}
}

// A program older than 1.11 has no write-only attributes: a secret in one would be kept in its state.
func TestAProgramThatWouldKeepASecretIsToldAtItsAttribute(t *testing.T) {
	t.Parallel()
	server := Server("test")
	all, err := server.GetProviderSchema(t.Context(), &tfprotov6.GetProviderSchemaRequest{})
	if err != nil {
		t.Fatal(err)
	}
	tried := 0
	for name, s := range all.ResourceSchemas {
		whole := s.ValueType()
		visitWriteOnly(s.Block.Attributes, tftypes.NewAttributePath(), func(at *tftypes.AttributePath, a *tfprotov6.SchemaAttribute) {
			tried++
			config, err := tfprotov6.NewDynamicValue(whole, with(whole, at.Steps(), anyKey, tftypes.NewValue(a.Type, "secret")))
			if err != nil {
				t.Fatal(err)
			}
			resp, err := server.ValidateResourceConfig(t.Context(), &tfprotov6.ValidateResourceConfigRequest{TypeName: name, Config: &config})
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range resp.Diagnostics {
				if d.Severity == tfprotov6.DiagnosticSeverityError && strings.Contains(d.Detail, "only supported in Terraform 1.11 and later") && d.Attribute.Equal(at) {
					return
				}
			}
			t.Errorf("nothing is said of %s at %s: %v", name, at, resp.Diagnostics)
		})
	}
	if tried < 4 {
		t.Errorf("only %d attributes are write-only", tried)
	}
}

// visitWriteOnly visits the attributes that are write-only, those inside of others too.
func visitWriteOnly(all []*tfprotov6.SchemaAttribute, at *tftypes.AttributePath, visit func(*tftypes.AttributePath, *tfprotov6.SchemaAttribute)) {
	for _, a := range all {
		here := at.WithAttributeName(a.Name)
		if a.WriteOnly {
			visit(here, a)
		}
		if a.NestedType == nil {
			continue
		}
		switch a.ValueType().(type) {
		case tftypes.List:
			here = here.WithElementKeyInt(0)
		case tftypes.Map:
			here = here.WithElementKeyString(anyKey)
		}
		visitWriteOnly(a.NestedType.Attributes, here, visit)
	}
}
