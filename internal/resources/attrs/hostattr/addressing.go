package hostattr

import (
	"context"
	"fmt"
	"math"
	"net/netip"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework-validators/listvalidator"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/hostnet"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
)

// Values of `addressing`.
const (
	// Inherit keeps what was there before; only of a device that takes others' addresses.
	Inherit = "inherit"
	// DHCP has the device ask for an address.
	DHCP = "dhcp"
	// Static are the addresses that are listed.
	Static = "static"
	// None are no addresses at all; only of a device that needs none.
	None = "none"
)

// Addressing is the part of a resource's model that says what a device has of addresses, default routes and name servers.
type Addressing struct {
	Mode        types.String `tfsdk:"addressing"`
	Addresses   types.List   `tfsdk:"addresses"`
	Gateway     types.String `tfsdk:"gateway"`
	Gateways    types.List   `tfsdk:"gateways"`
	Metric      types.Int64  `tfsdk:"metric"`
	Nameservers types.List   `tfsdk:"nameservers"`
	Search      types.List   `tfsdk:"search"`
}

// AddressingAttributes are those of Addressing. modes are the values of `addressing` that the resource has, otherwise is the one where
// neither it nor `addresses` is written, "" where one has to be.
func AddressingAttributes(modes values.Kind, otherwise, addressing, addresses string) map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"addressing": modes.OptionalComputed(addressing, chooseMode{otherwise: otherwise}),
		"addresses":  values.Each(values.AddressInPrefix).Some().Distinct().OptionalList(addresses, values.Each(values.AddressInPrefix).KeepSpelling()),
		"gateway":    values.Address.Optional("Default gateway, where `addresses` is a list. The default routes of other interfaces stay: beside one of them this takes a `metric`.", values.Address.KeepSpelling()),
		"gateways": schema.ListAttribute{Optional: true, ElementType: types.StringType, MarkdownDescription: "Default gateways instead of `gateway`, where there are several: one of IPv4 and one of IPv6. One alone is written as `gateway`, which is what an import finds.",
			Validators: []validator.List{values.Each(values.Address).Some().Distinct(), listvalidator.ConflictsWith(path.MatchRoot("gateway"))}, PlanModifiers: []planmodifier.List{values.Each(values.Address).KeepSpelling()}},
		"metric":      values.Between(1, math.MaxUint32).Optional("Metric of the default route: the lowest wins. Default: 0 for IPv4, the kernel's 1024 for IPv6."),
		"nameservers": values.Each(values.Address).Some().Distinct().OptionalList("Name servers that the machine asks by way of this device; not with backend `runtime`.", values.Each(values.Address).KeepSpelling()),
		"search":      values.Each(values.HostName).Some().Distinct().OptionalList("Domains that are appended to short names; not with backend `runtime`."),
	}
}

// chooseMode plans `addressing` where it is not written: static beside addresses.
type chooseMode struct {
	values.Undescribed
	otherwise string
}

// PlanModifyString implements planmodifier.String.
func (c chooseMode) PlanModifyString(ctx context.Context, req planmodifier.StringRequest, resp *planmodifier.StringResponse) {
	var addresses types.List
	resp.Diagnostics.Append(req.Config.GetAttribute(ctx, path.Root("addresses"), &addresses)...)
	written, mode := req.ConfigValue, c.otherwise
	switch {
	case !addresses.IsNull() && (written.IsNull() || written.ValueString() == Static):
		resp.PlanValue = types.StringValue(Static)
	case written.IsUnknown():
	case !addresses.IsNull():
		resp.Diagnostics.AddAttributeError(path.Root("addresses"), "Addresses that are not used", fmt.Sprintf("write addressing = %q, or leave addressing out: with %q no addresses are listed", Static, written.ValueString()))
	case written.ValueString() == Static || written.IsNull() && mode == "":
		resp.Diagnostics.AddAttributeError(path.Root("addresses"), "No addresses", `write a list of addresses with their prefix lengths such as ["10.19.41.10/24"], or addressing = "dhcp"`)
	case written.IsNull():
		resp.PlanValue = types.StringValue(mode)
	}
}

// Spec reads the attributes. inherit says that the addresses are those that were there before; an unknown counts as that.
func (m *Addressing) Spec() (a hostnet.Addressing, inherit bool, diags diag.Diagnostics) {
	known := !m.Mode.IsUnknown() && convert.WhollyKnown(context.Background(), m.Addresses)
	a.Metric, a.DHCP = int(m.Metric.ValueInt64()), m.Mode.ValueString() == DHCP
	inherit = m.Mode.ValueString() == Inherit || !known || m.Mode.IsNull() && m.Addresses.IsNull()
	for i, text := range convert.KnownTexts(m.Addresses) {
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			diags.AddAttributeError(path.Root("addresses").AtListIndex(i), "Invalid address", err.Error())
			continue
		}
		a.Addresses = append(a.Addresses, prefix)
	}
	address := func(at path.Path, v attr.Value, to *[]netip.Addr) {
		parsed, ok, err := Address(v)
		if err != nil {
			diags.AddAttributeError(at, "Invalid address", err.Error())
		} else if ok {
			*to = append(*to, parsed)
		}
	}
	if known { // what they shall be in is not known yet
		address(path.Root("gateway"), m.Gateway, &a.Gateways)
		for i, v := range m.Gateways.Elements() {
			address(path.Root("gateways").AtListIndex(i), v, &a.Gateways)
		}
	}
	if !known || m.Gateway.IsUnknown() || !convert.WhollyKnown(context.Background(), m.Gateways) {
		a.Metric = 0 // what it is the metric of is not known yet
	}
	for i, v := range m.Nameservers.Elements() {
		address(path.Root("nameservers").AtListIndex(i), v, &a.Nameservers)
	}
	if !known { // NetworkManager takes those of a family beside addresses of it alone
		a.Nameservers = nil
	}
	a.Search = convert.KnownTexts(m.Search)
	return a, inherit, diags
}

// Fill writes what the machine has into the attributes, and keeps their own spelling where the meaning is the same.
func (m *Addressing) Fill(got hostnet.Addressing, inherit bool) diag.Diagnostics {
	want, _, diags := m.Spec()
	if diags.HasError() {
		return diags
	}
	m.Metric = numberOrNull(got.Metric)
	switch {
	case inherit:
		m.Mode, m.Addresses = types.StringValue(Inherit), types.ListNull(types.StringType)
	case got.DHCP:
		m.Mode, m.Addresses = types.StringValue(DHCP), types.ListNull(types.StringType)
	case len(got.Addresses) == 0:
		m.Mode, m.Addresses = types.StringValue(None), types.ListNull(types.StringType)
	default:
		m.Mode = types.StringValue(Static)
		if !convert.WhollyKnown(context.Background(), m.Addresses) || !SameSet(want.Addresses, got.Addresses) {
			m.Addresses = convert.SpellList(got.Addresses)
		}
	}
	if !slices.Equal(want.Gateways, got.Gateways) {
		m.Gateway, m.Gateways = types.StringNull(), types.ListNull(types.StringType)
		if len(got.Gateways) == 1 {
			m.Gateway = types.StringValue(got.Gateways[0].String())
		} else if len(got.Gateways) > 1 {
			m.Gateways = convert.SpellList(got.Gateways)
		}
	}
	if !slices.Equal(want.Nameservers, got.Nameservers) {
		m.Nameservers = convert.SpellList(got.Nameservers)
	}
	if !slices.Equal(want.Search, got.Search) {
		m.Search = convert.List(got.Search)
	}
	return diags
}

// numberOrNull is null where the configuration leaves it out.
func numberOrNull(n int) types.Int64 {
	if n == 0 {
		return types.Int64Null()
	}
	return types.Int64Value(int64(n))
}

// SameSet says whether two lists have the same values.
func SameSet[T comparable](a, b []T) bool {
	within := func(x, y []T) bool {
		return !slices.ContainsFunc(x, func(e T) bool { return !slices.Contains(y, e) })
	}
	return within(a, b) && within(b, a)
}
