package resolver

import (
	"net/netip"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/hostattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/resolver"
)

type model struct {
	ID            types.String `tfsdk:"id"`
	Host          types.String `tfsdk:"host"`
	Nameservers   types.List   `tfsdk:"nameservers"`
	Search        types.List   `tfsdk:"search"`
	Domains       types.List   `tfsdk:"domains"`
	Backend       types.String `tfsdk:"backend"`
	ActiveBackend types.String `tfsdk:"active_backend"`
}

func (m *model) toSpec() (resolver.Resolver, diag.Diagnostics) {
	var diags diag.Diagnostics
	r := resolver.Resolver{Backend: m.Backend.ValueString(), Search: convert.KnownTexts(m.Search), Domains: convert.KnownTexts(m.Domains)}
	for i, v := range m.Nameservers.Elements() {
		a, known, err := hostattr.Address(v)
		if err != nil {
			diags.AddAttributeError(path.Root("nameservers").AtListIndex(i), "Invalid address", err.Error())
		} else if known {
			r.Nameservers = append(r.Nameservers, a)
		}
	}
	return r, diags
}

// fillModel writes what the machine has into the model, and keeps the model's own spelling where the meaning is the same.
func (m *model) fillModel(got resolver.Resolver) diag.Diagnostics {
	want, _ := m.toSpec()
	var diags diag.Diagnostics
	if !slices.EqualFunc(want.Nameservers, got.Nameservers, func(a, b netip.Addr) bool { return a == b }) {
		m.Nameservers = convert.SpellList(got.Nameservers)
	}
	for list, pair := range map[*types.List][2][]string{&m.Search: {want.Search, got.Search}, &m.Domains: {want.Domains, got.Domains}} {
		if !slices.Equal(pair[0], pair[1]) {
			*list = convert.ListOrNull(pair[1])
		}
	}
	m.Backend, m.ActiveBackend = types.StringValue(got.Backend), types.StringValue(got.ActiveBackend)
	return diags
}
