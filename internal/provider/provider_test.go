package provider_test

import (
	"context"
	"reflect"
	"slices"
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
	t.Parallel()
	resp := schemas(t)
	describe(t, "provider", resp.Provider.Block.Attributes)
	for name, s := range resp.ResourceSchemas {
		describe(t, name, s.Block.Attributes)
		if s.Block.Description == "" {
			t.Errorf("%s has no description", name)
		}
	}
	for name, s := range resp.EphemeralResourceSchemas {
		describe(t, "ephemeral "+name, s.Block.Attributes)
		if s.Block.Description == "" {
			t.Errorf("ephemeral %s has no description", name)
		}
	}
	for name, s := range resp.ListResourceSchemas {
		describe(t, "list "+name, s.Block.Attributes)
		if s.Block.Description == "" {
			t.Errorf("list %s has no description", name)
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

// secretAttributes are those that hold passwords, keys or pull secrets, by their paths: none of them may show in a plan.
var secretAttributes = []string{
	"virtcluster_node.ignition", "virtcluster_node.butane", "virtcluster_node.cloud_init.user_data", "virtcluster_node.cloud_init.vendor_data",
	"virtcluster_vip.auth_pass",
}

// What an ephemeral resource computes is a secret, but for what the API's address and its authority's certificate are.
func TestEphemeralResultsAreSensitive(t *testing.T) {
	t.Parallel()
	open := []string{"host", "ca_certificate"}
	for name, s := range schemas(t).EphemeralResourceSchemas {
		for _, a := range s.Block.Attributes {
			if a.Computed && a.Sensitive == slices.Contains(open, a.Name) {
				t.Errorf("%s.%s: sensitive is %t", name, a.Name, a.Sensitive)
			}
		}
	}
}

func TestSecretsAreSensitiveOrWriteOnly(t *testing.T) {
	t.Parallel()
	found := map[string]bool{}
	for name, s := range schemas(t).ResourceSchemas {
		secrets(t, name, s.Block.Attributes, found)
	}
	for _, path := range secretAttributes {
		t.Run(path, func(t *testing.T) {
			if !found[path] {
				t.Errorf("there is no attribute %s", path)
			}
		})
	}
}

// secrets checks what is in the list, and what has a secret's name.
func secrets(t *testing.T, at string, attributes []*tfprotov6.SchemaAttribute, found map[string]bool) {
	t.Helper()
	for _, a := range attributes {
		path := at + "." + a.Name
		found[path] = true
		named := strings.HasSuffix(a.Name, "password") || a.Name == "auth_pass" || a.Name == "private_key"
		if (named || slices.Contains(secretAttributes, path)) && !a.Sensitive {
			t.Errorf("%s must be sensitive", path)
		}
		if strings.HasSuffix(a.Name, "_wo") && !a.WriteOnly {
			t.Errorf("%s must be write-only", path)
		}
		if a.NestedType != nil {
			secrets(t, path, a.NestedType.Attributes, found)
		}
	}
}

func TestEveryResourceImportsAndHasAnIdentity(t *testing.T) {
	t.Parallel()
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
