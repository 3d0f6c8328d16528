package hostsfile

import (
	"context"
	"maps"
	"net/netip"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/hostattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/hostsfile"
)

type model struct {
	ID      types.String `tfsdk:"id"`
	Host    types.String `tfsdk:"host"`
	Name    types.String `tfsdk:"name"`
	Entries types.Map    `tfsdk:"entries"`
}

func (m *model) toSpec(context.Context) (hostsfile.Block, diag.Diagnostics) {
	var diags diag.Diagnostics
	b := hostsfile.Block{Name: m.Name.ValueString(), Entries: map[netip.Addr][]string{}}
	for _, key := range slices.Sorted(maps.Keys(m.Entries.Elements())) {
		at := path.Root("entries").AtMapKey(key)
		a, _, err := hostattr.Address(types.StringValue(key))
		if err != nil {
			diags.AddAttributeError(at, "Invalid address", err.Error())
			continue
		}
		if _, twice := b.Entries[a]; twice {
			diags.AddAttributeError(at, "Address twice", key+" is another spelling of an address that is there already: put all its names in one list")
		}
		list, _ := m.Entries.Elements()[key].(types.List)
		if list.IsUnknown() {
			continue
		}
		b.Entries[a] = convert.KnownTexts(list)
	}
	return b, diags
}

// fillModel writes what the machine has into the model, and keeps the model's own spelling of an address.
func (m *model) fillModel(_ context.Context, got hostsfile.Block) diag.Diagnostics {
	spelled := map[netip.Addr]string{}
	for key := range m.Entries.Elements() {
		if a, err := netip.ParseAddr(key); err == nil {
			spelled[a] = key
		}
	}
	elements := map[string]attr.Value{}
	for a, names := range got.Entries {
		key, own := spelled[a]
		if !own {
			key = a.String()
		}
		elements[key] = types.ListValueMust(types.StringType, convert.Elements(names))
	}
	var diags diag.Diagnostics
	m.Entries, diags = types.MapValue(types.ListType{ElemType: types.StringType}, elements)
	return diags
}
