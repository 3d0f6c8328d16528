package externalbridge

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/hostattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/bridge"
)

// Values of `addresses` beside a list: inherit moves the interfaces' own, dhcp has the bridge ask for one.
const (
	inherit = "inherit"
	dhcp    = "dhcp"
)

type model struct {
	ID              types.String  `tfsdk:"id"`
	Name            types.String  `tfsdk:"name"`
	Host            types.String  `tfsdk:"host"`
	Hypervisor      types.String  `tfsdk:"hypervisor"`
	Interfaces      types.List    `tfsdk:"interfaces"`
	STP             types.Bool    `tfsdk:"stp"`
	MTU             types.Int64   `tfsdk:"mtu"`
	Addresses       types.Dynamic `tfsdk:"addresses"`
	Gateway         types.String  `tfsdk:"gateway"`
	Metric          types.Int64   `tfsdk:"metric"`
	Backend         types.String  `tfsdk:"backend"`
	RollbackTimeout types.Int64   `tfsdk:"rollback_timeout"`
	Nameservers     types.List    `tfsdk:"nameservers"`
	Search          types.List    `tfsdk:"search"`
	ActiveAddresses types.List    `tfsdk:"active_addresses"`
	ActiveBackend   types.String  `tfsdk:"active_backend"`
}

func (m *model) spec(ctx context.Context) (bridge.Bridge, diag.Diagnostics) {
	var diags diag.Diagnostics
	b := bridge.Bridge{
		Name: m.Name.ValueString(), STP: m.STP.ValueBool(), MTU: int(m.MTU.ValueInt64()), Metric: int(m.Metric.ValueInt64()),
		Backend:         m.Backend.ValueString(),
		RollbackTimeout: time.Duration(m.RollbackTimeout.ValueInt64()) * time.Second,
	}
	if !m.Interfaces.IsUnknown() {
		var names []types.String
		diags.Append(m.Interfaces.ElementsAs(ctx, &names, false)...)
		for _, n := range names {
			b.Interfaces = append(b.Interfaces, n.ValueString())
		}
	}
	if text := m.Gateway.ValueString(); text != "" {
		gateway, err := netip.ParseAddr(text)
		if err != nil {
			diags.AddAttributeError(path.Root("gateway"), "Invalid address", "write an address such as \"10.19.41.254\": "+err.Error())
		}
		b.Gateway = gateway
	}
	var d diag.Diagnostics
	b.Inherit, b.Addresses, d = addresses(m.Addresses)
	diags.Append(d...)
	if text, ok := m.Addresses.UnderlyingValue().(types.String); ok && text.ValueString() == dhcp {
		b.Inherit, b.DHCP = false, true
	}
	for i, v := range m.Nameservers.Elements() {
		a, known, err := hostattr.Address(v)
		if err != nil {
			diags.AddAttributeError(path.Root("nameservers").AtListIndex(i), "Invalid address", err.Error())
		} else if known {
			b.Nameservers = append(b.Nameservers, a)
		}
	}
	for _, v := range m.Search.Elements() {
		if text, ok := v.(types.String); ok && !text.IsUnknown() {
			b.Search = append(b.Search, text.ValueString())
		}
	}
	return b, diags
}

// addresses reads "inherit" or a list of addresses with prefix lengths; an unknown counts as "inherit".
func addresses(v types.Dynamic) (inherits bool, list []netip.Prefix, diags diag.Diagnostics) {
	at := path.Root("addresses")
	var elements []attr.Value
	switch u := v.UnderlyingValue().(type) {
	case nil:
		return true, nil, nil
	case types.String:
		if !u.IsUnknown() && u.ValueString() != inherit && u.ValueString() != dhcp {
			diags.AddAttributeError(at, "Invalid addresses", "write \"inherit\", \"dhcp\" or a list such as [\"10.19.41.10/24\"]")
		}
		return true, nil, diags
	case types.Tuple:
		elements = u.Elements()
	case types.List:
		elements = u.Elements()
	case types.Set:
		elements = u.Elements()
	default:
		diags.AddAttributeError(at, "Invalid addresses", "write \"inherit\", \"dhcp\" or a list such as [\"10.19.41.10/24\"]")
		return true, nil, diags
	}
	for _, e := range elements {
		text, ok := e.(types.String)
		if ok && text.IsUnknown() {
			continue
		}
		prefix, err := netip.ParsePrefix(text.ValueString())
		if !ok || err != nil {
			diags.AddAttributeError(at, "Invalid address", "write an address with its prefix length such as \"10.19.41.10/24\", not "+e.String())
			continue
		}
		list = append(list, prefix)
	}
	return false, list, diags
}

// fill writes what the machine has into the model.
func (m *model) fill(ctx context.Context, got bridge.Bridge) diag.Diagnostics {
	want, diags := m.spec(ctx)
	if diags.HasError() {
		return diags
	}
	m.STP, m.MTU, m.Metric = types.BoolValue(got.STP), number(got.MTU), number(got.Metric)
	if !sameSet(want.Interfaces, got.Interfaces) {
		list, d := types.ListValueFrom(ctx, types.StringType, got.Interfaces)
		diags.Append(d...)
		m.Interfaces = list
	}
	switch {
	case got.Inherit:
		m.Addresses = types.DynamicValue(types.StringValue(inherit))
	case got.DHCP:
		m.Addresses = types.DynamicValue(types.StringValue(dhcp))
	case want.Inherit || want.DHCP || !sameSet(want.Addresses, got.Addresses):
		m.Addresses = types.DynamicValue(tuple(got.Addresses))
	}
	if want.Gateway != got.Gateway {
		m.Gateway = types.StringNull()
		if got.Gateway.IsValid() {
			m.Gateway = types.StringValue(got.Gateway.String())
		}
	}
	var d diag.Diagnostics
	if !slices.Equal(want.Nameservers, got.Nameservers) {
		m.Nameservers, d = texts(ctx, got.Nameservers)
		diags.Append(d...)
	}
	if !slices.Equal(want.Search, got.Search) {
		m.Search, d = types.ListValueFrom(ctx, types.StringType, got.Search)
		diags.Append(d...)
	}
	m.Backend, m.ActiveBackend = types.StringValue(got.Backend), types.StringValue(got.ActiveBackend)
	m.RollbackTimeout = types.Int64Value(int64(got.RollbackTimeout / time.Second))
	m.ActiveAddresses, d = texts(ctx, got.Active)
	return append(diags, d...)
}

// texts is a list of what values are spelled as.
func texts[T fmt.Stringer](ctx context.Context, values []T) (types.List, diag.Diagnostics) {
	spelled := []string{}
	for _, v := range values {
		spelled = append(spelled, v.String())
	}
	return types.ListValueFrom(ctx, types.StringType, spelled)
}

// number is null where the configuration leaves it out.
func number(n int) types.Int64 {
	if n == 0 {
		return types.Int64Null()
	}
	return types.Int64Value(int64(n))
}

func tuple(prefixes []netip.Prefix) types.Tuple {
	var kinds []attr.Type
	var values []attr.Value
	for _, p := range prefixes {
		kinds, values = append(kinds, types.StringType), append(values, types.StringValue(p.String()))
	}
	return types.TupleValueMust(kinds, values)
}

func sameSet[T comparable](a, b []T) bool {
	within := func(x, y []T) bool {
		return !slices.ContainsFunc(x, func(e T) bool { return !slices.Contains(y, e) })
	}
	return within(a, b) && within(b, a)
}
