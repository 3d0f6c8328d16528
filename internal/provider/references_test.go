package provider_test

import (
	"slices"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
)

func TestWhatConfigurationRefersToIsThere(t *testing.T) {
	t.Parallel()
	all := schemas(t).ResourceSchemas
	for name, references := range crud.References {
		for _, r := range references {
			t.Run(name+" of "+r.Type, func(t *testing.T) {
				t.Parallel()
				s, offered := all[r.Type]
				if !offered || !slices.ContainsFunc(s.Block.Attributes, func(a *tfprotov6.SchemaAttribute) bool { return a.Name == r.Attribute }) {
					t.Errorf("no %s has an attribute %s", r.Type, r.Attribute)
				}
			})
		}
	}
}
