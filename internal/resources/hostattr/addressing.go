package hostattr

import (
	"context"
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

// Values of `addresses` beside a list.
const (
	// Inherit keeps what was there before; only of a device that takes others' addresses.
	Inherit = "inherit"
	// DHCP has the device ask for an address.
	DHCP = "dhcp"
)

// Addressing is the part of a resource's model that says what a device has of addresses, default routes and name servers.
type Addressing struct {
	Addresses   types.Dynamic `tfsdk:"addresses"`
	Gateway     types.String  `tfsdk:"gateway"`
	Gateways    types.List    `tfsdk:"gateways"`
	Metric      types.Int64   `tfsdk:"metric"`
	Nameservers types.List    `tfsdk:"nameservers"`
	Search      types.List    `tfsdk:"search"`
}

// AddressingAttributes are those of Addressing; addresses is the resource's own.
func AddressingAttributes(addresses schema.DynamicAttribute) map[string]schema.Attribute {
	addresses.Validators = []validator.Dynamic{values.NewForm("\""+DHCP+"\" or a list of addresses", func(v types.Dynamic) diag.Diagnostics {
		_, _, _, diags := readAddresses(v)
		return diags
	})}
	return map[string]schema.Attribute{
		"addresses": addresses,
		"gateway": schema.StringAttribute{Optional: true, MarkdownDescription: "Default gateway, where `addresses` is a list. The default routes of other interfaces stay: beside one of them this takes a `metric`.",
			Validators: []validator.String{values.Address}, PlanModifiers: []planmodifier.String{values.Address.KeepSpelling()}},
		"gateways": schema.ListAttribute{Optional: true, ElementType: types.StringType, MarkdownDescription: "Default gateways instead of `gateway`, where there are several: one of IPv4 and one of IPv6. One alone is written as `gateway`, which is what an import finds.",
			Validators: []validator.List{values.Each(values.Address).Some().Distinct(), listvalidator.ConflictsWith(path.MatchRoot("gateway"))}, PlanModifiers: []planmodifier.List{values.Each(values.Address).KeepSpelling()}},
		"metric": schema.Int64Attribute{Optional: true, MarkdownDescription: "Metric of the default route: the lowest wins. Default: 0 for IPv4, the kernel's 1024 for IPv6.",
			Validators: []validator.Int64{values.Between(1, math.MaxUint32)}},
		"nameservers": schema.ListAttribute{Optional: true, ElementType: types.StringType, MarkdownDescription: "Name servers that the machine asks by way of this device; not with backend `runtime`.",
			Validators: []validator.List{values.Each(values.Address).Some().Distinct()}, PlanModifiers: []planmodifier.List{values.Each(values.Address).KeepSpelling()}},
		"search": schema.ListAttribute{Optional: true, ElementType: types.StringType, MarkdownDescription: "Domains that are appended to short names; not with backend `runtime`.",
			Validators: []validator.List{values.Each(values.HostName).Some().Distinct()}},
	}
}

// Spec reads the attributes. inherit says that the addresses are those that were there before; an unknown counts as that.
func (m *Addressing) Spec() (a hostnet.Addressing, inherit bool, diags diag.Diagnostics) {
	a.Metric = int(m.Metric.ValueInt64())
	list, word, known, diags := readAddresses(m.Addresses)
	a.Addresses, a.DHCP, inherit = list, word == DHCP, word == Inherit || !known
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
	a.Search = convert.KnownTexts(m.Search)
	return a, inherit, diags
}

// readAddresses reads a word or a list of addresses with prefix lengths. Null is Inherit.
func readAddresses(v types.Dynamic) (list []netip.Prefix, word string, known bool, diags diag.Diagnostics) {
	at := path.Root("addresses")
	bad := func(what string) {
		diags.AddAttributeError(at, "Invalid addresses", "write \""+DHCP+"\", or a list of addresses with their prefix lengths such as [\"10.19.41.10/24\"], not "+what)
	}
	var elements []attr.Value
	switch u := v.UnderlyingValue().(type) {
	case nil:
		return nil, Inherit, !v.IsUnknown() && !v.IsUnderlyingValueUnknown(), nil
	case types.String:
		if !u.IsUnknown() && u.ValueString() != Inherit && u.ValueString() != DHCP {
			bad(u.String())
		}
		return nil, u.ValueString(), !u.IsUnknown(), diags
	default:
		var ok bool
		if elements, ok = convert.SequenceElements(u); !ok {
			bad(v.String())
			return nil, "", true, diags
		}
		known = !u.IsUnknown()
	}
	for _, e := range elements {
		text, ok := e.(types.String)
		if ok && text.IsUnknown() {
			known = false
			continue
		}
		prefix, err := netip.ParsePrefix(text.ValueString())
		if !ok || err != nil {
			bad(e.String())
			continue
		}
		list = append(list, prefix)
	}
	return list, "", known, diags
}

// Fill writes what the machine has into the attributes, and keeps their own spelling where the meaning is the same.
func (m *Addressing) Fill(got hostnet.Addressing, inherit bool) diag.Diagnostics {
	want, inherits, diags := m.Spec()
	if diags.HasError() {
		return diags
	}
	m.Metric = numberOrNull(got.Metric)
	switch {
	case inherit:
		m.Addresses = types.DynamicValue(types.StringValue(Inherit))
	case got.DHCP:
		m.Addresses = types.DynamicValue(types.StringValue(DHCP))
	case inherits || want.DHCP || !SameSet(want.Addresses, got.Addresses):
		m.Addresses = types.DynamicValue(toTuple(got.Addresses))
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

func toTuple(prefixes []netip.Prefix) types.Tuple {
	var kinds []attr.Type
	var values []attr.Value
	for _, p := range prefixes {
		kinds, values = append(kinds, types.StringType), append(values, types.StringValue(p.String()))
	}
	return types.TupleValueMust(kinds, values)
}

// SameSet says whether two lists have the same values.
func SameSet[T comparable](a, b []T) bool {
	within := func(x, y []T) bool {
		return !slices.ContainsFunc(x, func(e T) bool { return !slices.Contains(y, e) })
	}
	return within(a, b) && within(b, a)
}
