package inventory_test

import (
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/node"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/storagepool"
)

// TestWhatNoConfigurationSaysIsNotWritten adds what a person may have made and what validation of the type refuses.
func TestWhatNoConfigurationSaysIsNotWritten(t *testing.T) {
	t.Parallel()
	type value struct {
		at path.Path
		is any
	}
	root := path.Root("root_disk")
	for name, c := range map[string]struct {
		of      func() resource.Resource
		typed   string
		values  []value
		refused string
	}{
		"a pool":                    {storagepool.New, "virtcluster_storage_pool", []value{{path.Root("name"), "p"}, {path.Root("path"), "/srv/p"}}, ""},
		"a pool at a relative path": {storagepool.New, "virtcluster_storage_pool", []value{{path.Root("name"), "p"}, {path.Root("path"), "srv/p"}}, "path"},
		"a node": {node.New(), "virtcluster_node", []value{
			{path.Root("name"), "n"}, {path.Root("vcpus"), int64(1)}, {path.Root("memory_mib"), int64(64)}, {root.AtName("volume"), "/srv/p/d.qcow2"}, {root.AtName("bus"), "sata"},
		}, ""},
		"a node with an IDE disk": {node.New(), "virtcluster_node", []value{
			{path.Root("name"), "n"}, {path.Root("vcpus"), int64(1)}, {path.Root("memory_mib"), int64(64)}, {root.AtName("volume"), "/srv/p/d.qcow2"}, {root.AtName("bus"), "ide"},
		}, "root_disk"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var s resource.SchemaResponse
			c.of().Schema(t.Context(), resource.SchemaRequest{}, &s)
			state := tfsdk.State{Schema: s.Schema, Raw: tftypes.NewValue(s.Schema.Type().TerraformType(t.Context()), nil)}
			for _, v := range c.values {
				if diags := state.SetAttribute(t.Context(), v.at, v.is); diags.HasError() {
					t.Fatal(diags)
				}
			}
			_, _, err := crud.Inventory{c.of}.NewConfiguration().Add(t.Context(), crud.Found{Type: c.typed, Name: "x", ImportID: "x", State: state})
			if (err != nil) != (c.refused != "") || err != nil && !strings.Contains(err.Error(), c.refused) {
				t.Errorf("adding it gives %v, want %q", err, c.refused)
			}
		})
	}
}
