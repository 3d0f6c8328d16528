package addresspool

import (
	"context"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"go4.org/netipx"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/addresspool"
)

type model struct {
	ID            types.String `tfsdk:"id"`
	ServiceNode   types.String `tfsdk:"service_node"`
	Name          types.String `tfsdk:"name"`
	Ranges        types.List   `tfsdk:"ranges"`
	Reserved      types.List   `tfsdk:"reserved"`
	AvoidBuggyIPs types.Bool   `tfsdk:"avoid_buggy_ips"`
}

func toSpec(_ context.Context, m *model) (addresspool.Pool, diag.Diagnostics) {
	var diags diag.Diagnostics
	p := addresspool.Pool{Name: m.Name.ValueString(), AvoidBuggyIPs: m.AvoidBuggyIPs.ValueBool()}
	p.Ranges = parseRanges(m.Ranges, path.Root("ranges"), &diags)
	p.Reserved = parseRanges(m.Reserved, path.Root("reserved"), &diags)
	return p, diags
}

// parseRanges reads the runs of a list; unknown ones are left out.
func parseRanges(list types.List, at path.Path, diags *diag.Diagnostics) []netipx.IPRange {
	var runs []netipx.IPRange
	for i, e := range list.Elements() {
		text, ok := e.(types.String)
		if !ok || text.IsUnknown() {
			continue
		}
		run, err := addresspool.ParseRange(text.ValueString())
		if err != nil {
			diags.AddAttributeError(at.AtListIndex(i), "Invalid range", err.Error())
			continue
		}
		runs = append(runs, run)
	}
	return runs
}

// isKnown says whether everything that makes the pool up is.
func (m *model) isKnown() bool {
	unknown := func(e attr.Value) bool { return e.IsUnknown() }
	return !m.ServiceNode.IsUnknown() && !m.Name.IsUnknown() && !m.Ranges.IsUnknown() && !m.Reserved.IsUnknown() &&
		!slices.ContainsFunc(m.Ranges.Elements(), unknown) && !slices.ContainsFunc(m.Reserved.Elements(), unknown)
}

func fillModel(_ context.Context, m *model, got addresspool.Pool) diag.Diagnostics {
	m.AvoidBuggyIPs = types.BoolValue(got.AvoidBuggyIPs)
	m.Ranges, m.Reserved = convert.List(addresspool.FormatRanges(got.Ranges)), convert.ListOrNull(addresspool.FormatRanges(got.Reserved))
	return nil
}
