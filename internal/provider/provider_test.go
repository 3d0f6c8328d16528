package provider_test

import (
	"context"
	"reflect"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/provider"
)

func schemas(t *testing.T) *tfprotov6.GetProviderSchemaResponse {
	t.Helper()
	server := provider.Server("test")
	resp, err := server.GetProviderSchema(context.Background(), &tfprotov6.GetProviderSchemaRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range resp.Diagnostics {
		t.Errorf("%s: %s", d.Summary, d.Detail)
	}
	return resp
}

func TestSchemasAreValidAndEveryAttributeIsDescribed(t *testing.T) {
	resp := schemas(t)
	describe(t, "provider", resp.Provider.Block.Attributes)
	for name, s := range resp.ResourceSchemas {
		describe(t, name, s.Block.Attributes)
		if s.Block.Description == "" {
			t.Errorf("%s has no description", name)
		}
	}
	for name, s := range resp.DataSourceSchemas {
		describe(t, "data "+name, s.Block.Attributes)
	}
}

func describe(t *testing.T, at string, attributes []*tfprotov6.SchemaAttribute) {
	t.Helper()
	for _, a := range attributes {
		// timeouts' own attributes come described by their module, in part.
		if a.Description == "" && !strings.HasSuffix(at, "timeouts") && a.Name != "timeouts" {
			t.Errorf("%s.%s has no description", at, a.Name)
		}
		if a.NestedType != nil {
			describe(t, at+"."+a.Name, a.NestedType.Attributes)
		}
	}
}

// Names of secrets: none of them may show in a plan.
func TestSecretsAreSensitiveOrWriteOnly(t *testing.T) {
	for name, s := range schemas(t).ResourceSchemas {
		secrets(t, name, s.Block.Attributes)
	}
}

func secrets(t *testing.T, at string, attributes []*tfprotov6.SchemaAttribute) {
	t.Helper()
	for _, a := range attributes {
		secret := strings.HasSuffix(a.Name, "password") || a.Name == "auth_pass" || a.Name == "private_key"
		if secret && !a.Sensitive {
			t.Errorf("%s.%s must be sensitive", at, a.Name)
		}
		if strings.HasSuffix(a.Name, "_wo") && !a.WriteOnly {
			t.Errorf("%s.%s must be write-only", at, a.Name)
		}
		if a.NestedType != nil {
			secrets(t, at+"."+a.Name, a.NestedType.Attributes)
		}
	}
}

func TestEveryResourceImportsAndHasAnIdentity(t *testing.T) {
	server := provider.Server("test")
	resp, err := server.GetResourceIdentitySchemas(context.Background(), &tfprotov6.GetResourceIdentitySchemasRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for name, s := range schemas(t).ResourceSchemas {
		if _, ok := resp.IdentitySchemas[name]; !ok {
			t.Errorf("%s has no identity", name)
		}
		hasID := false
		for _, a := range s.Block.Attributes {
			hasID = hasID || a.Name == "id" && a.Computed && reflect.DeepEqual(a.Type.String(), "tftypes.String")
		}
		if !hasID {
			t.Errorf("%s has no computed id", name)
		}
	}
}
