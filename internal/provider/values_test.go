package provider

import (
	"reflect"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/action"
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/ephemeral"
	"github.com/hashicorp/terraform-plugin-framework/list"
	frameworkprovider "github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
)

// Every attribute that a configuration sets says what it holds, by a rule of package values: whoever adds one has to choose.
func TestEveryAttributeSaysWhatItHolds(t *testing.T) {
	t.Parallel()
	eachAttribute(t, func(path string, a reflect.Value) {
		if a.Type().Name() == "BoolAttribute" || strings.Contains(path, ".timeouts") {
			return
		}
		if !a.FieldByName("Attributes").IsValid() && !hasRule(a.FieldByName("Validators")) {
			t.Errorf("%s (%s) does not say what it holds: give it a validator of package values", path, a.Type().Name())
		}
	})
}

// eachAttribute visits every attribute that a configuration sets, of resources, data sources, actions, ephemeral and list resources and the provider.
func eachAttribute(t *testing.T, visit func(path string, a reflect.Value)) {
	t.Helper()
	for _, make := range resources {
		r := make()
		var meta resource.MetadataResponse
		r.Metadata(t.Context(), resource.MetadataRequest{ProviderTypeName: "virtcluster"}, &meta)
		var s resource.SchemaResponse
		r.Schema(t.Context(), resource.SchemaRequest{}, &s)
		walk(meta.TypeName, reflect.ValueOf(s.Schema.Attributes), visit)
	}
	for _, make := range dataSources {
		d := make()
		var meta datasource.MetadataResponse
		d.Metadata(t.Context(), datasource.MetadataRequest{ProviderTypeName: "virtcluster"}, &meta)
		var s datasource.SchemaResponse
		d.Schema(t.Context(), datasource.SchemaRequest{}, &s)
		walk("data "+meta.TypeName, reflect.ValueOf(s.Schema.Attributes), visit)
	}
	for _, make := range actions {
		a := make()
		var meta action.MetadataResponse
		a.Metadata(t.Context(), action.MetadataRequest{ProviderTypeName: "virtcluster"}, &meta)
		var s action.SchemaResponse
		a.Schema(t.Context(), action.SchemaRequest{}, &s)
		walk("action "+meta.TypeName, reflect.ValueOf(s.Schema.Attributes), visit)
	}
	for _, make := range ephemerals {
		e := make()
		var meta ephemeral.MetadataResponse
		e.Metadata(t.Context(), ephemeral.MetadataRequest{ProviderTypeName: "virtcluster"}, &meta)
		var s ephemeral.SchemaResponse
		e.Schema(t.Context(), ephemeral.SchemaRequest{}, &s)
		walk("ephemeral "+meta.TypeName, reflect.ValueOf(s.Schema.Attributes), visit)
	}
	for _, make := range crud.Lists(resources) {
		l := make()
		var meta resource.MetadataResponse
		l.Metadata(t.Context(), resource.MetadataRequest{ProviderTypeName: "virtcluster"}, &meta)
		var s list.ListResourceSchemaResponse
		l.ListResourceConfigSchema(t.Context(), list.ListResourceSchemaRequest{}, &s)
		walk("list "+meta.TypeName, reflect.ValueOf(s.Schema.Attributes), visit)
	}
	var s frameworkprovider.SchemaResponse
	(&virtcluster{}).Schema(t.Context(), frameworkprovider.SchemaRequest{}, &s)
	walk("provider", reflect.ValueOf(s.Schema.Attributes), visit)
}

// walk goes through a map of attributes of a resource, a data source or the provider: their types differ, and their fields do not.
func walk(above string, attributes reflect.Value, visit func(path string, a reflect.Value)) {
	for _, name := range attributes.MapKeys() {
		a := attributes.MapIndex(name).Elem()
		path := above + "." + name.String()
		if inner := a.FieldByName("NestedObject"); inner.IsValid() {
			walk(path, inner.FieldByName("Attributes"), visit)
		}
		if inner := a.FieldByName("Attributes"); inner.IsValid() {
			walk(path, inner, visit)
		}
		if a.FieldByName("Optional").Bool() || a.FieldByName("Required").Bool() {
			visit(path, a)
		}
	}
}

func hasRule(validators reflect.Value) bool {
	for i := range validators.Len() {
		if _, is := validators.Index(i).Elem().Interface().(values.Rule); is {
			return true
		}
	}
	return false
}
