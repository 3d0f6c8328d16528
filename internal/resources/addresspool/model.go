package addresspool

import (
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

func (m *model) toSpec() (addresspool.Pool, diag.Diagnostics) {
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

func (m *model) fillModel(got addresspool.Pool) diag.Diagnostics {
	m.AvoidBuggyIPs = types.BoolValue(got.AvoidBuggyIPs)
	m.Ranges = spellRanges(m.Ranges, got.Ranges)
	if len(got.Reserved) > 0 || len(m.Reserved.Elements()) > 0 {
		m.Reserved = spellRanges(m.Reserved, got.Reserved)
	}
	return nil
}

// spellRanges is what a pool has as a list: the model's own where that means the same.
func spellRanges(own types.List, got []netipx.IPRange) types.List {
	var ignored diag.Diagnostics
	if convert.Known(own) && slices.Equal(parseRanges(own, path.Empty(), &ignored), got) {
		return own
	}
	texts := make([]string, len(got))
	for i, run := range got {
		texts[i] = addresspool.FormatRange(run)
	}
	return convert.List(texts)
}
