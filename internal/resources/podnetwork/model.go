package podnetwork

import (
	"maps"
	"net/netip"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/alloc"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/hostattr"
)

type model struct {
	ID         types.String `tfsdk:"id"`
	CIDR       types.String `tfsdk:"cidr"`
	HostPrefix types.Int64  `tfsdk:"host_prefix"`
	Nodes      types.Map    `tfsdk:"nodes"`
	PodCIDRs   types.Map    `tfsdk:"pod_cidrs"`
	Routes     types.Map    `tfsdk:"routes"`
}

// podPrefix is the pod network; ok is false where it is not known yet.
func (m *model) podPrefix() (p netip.Prefix, ok bool, diags diag.Diagnostics) {
	if m.CIDR.IsUnknown() {
		return p, false, nil
	}
	p, err := netip.ParsePrefix(m.CIDR.ValueString())
	switch {
	case err != nil:
		diags.AddAttributeError(path.Root("cidr"), "Invalid network", "write an address and a prefix length such as \"10.128.0.0/14\": "+err.Error())
	case p != p.Masked():
		diags.AddAttributeError(path.Root("cidr"), "Invalid network", m.CIDR.ValueString()+" is an address in a network: write "+p.Masked().String())
	}
	return p, !diags.HasError(), diags
}

// podSubnets reads pod_cidrs, as a state has it.
func (m *model) podSubnets() map[string]netip.Prefix {
	had := map[string]netip.Prefix{}
	for name, v := range m.PodCIDRs.Elements() {
		if text, ok := v.(types.String); ok {
			if p, err := netip.ParsePrefix(text.ValueString()); err == nil {
				had[name] = p
			}
		}
	}
	return had
}

// divideNetwork computes pod_cidrs and routes; what had subnets keeps them. What depends on something unknown becomes unknown.
func (m *model) divideNetwork(had map[string]netip.Prefix) diag.Diagnostics {
	cidr, known, diags := m.podPrefix()
	if !known || m.HostPrefix.IsUnknown() || m.Nodes.IsUnknown() {
		m.PodCIDRs, m.Routes = types.MapUnknown(types.StringType), types.MapUnknown(routesType)
		return diags
	}
	names := slices.Sorted(maps.Keys(m.Nodes.Elements()))
	addresses, d := m.nodeAddresses(cidr, names)
	diags.Append(d...)
	subnets, err := alloc.PodCIDRs(cidr, int(m.HostPrefix.ValueInt64()), had, names)
	if err != nil {
		diags.AddAttributeError(path.Root("host_prefix"), "Invalid prefix length", err.Error())
	}
	if diags.HasError() {
		return diags
	}
	cidrs, routes := map[string]attr.Value{}, map[string]attr.Value{}
	for _, name := range names {
		cidrs[name] = types.StringValue(subnets[name].String())
		list := []attr.Value{}
		for _, other := range names {
			if other != name {
				list = append(list, types.ObjectValueMust(routeTypes, map[string]attr.Value{"cidr": types.StringValue(subnets[other].String()), "via": addresses[other]}))
			}
		}
		routes[name] = types.ListValueMust(routesType.ElemType, list)
	}
	m.PodCIDRs, m.Routes = types.MapValueMust(types.StringType, cidrs), types.MapValueMust(routesType, routes)
	return diags
}

// nodeAddresses are the nodes' own in canonical form, checked as far as they are known.
func (m *model) nodeAddresses(cidr netip.Prefix, names []string) (map[string]types.String, diag.Diagnostics) {
	var diags diag.Diagnostics
	all, holder := map[string]types.String{}, map[netip.Addr]string{}
	for _, name := range names {
		at := path.Root("nodes").AtMapKey(name)
		v := m.Nodes.Elements()[name]
		all[name], _ = v.(types.String)
		a, known, err := hostattr.Address(v)
		switch {
		case err != nil:
			diags.AddAttributeError(at, "Invalid address", err.Error())
		case !known:
			continue
		case a.Is4() != cidr.Addr().Is4():
			diags.AddAttributeError(at, "Invalid address", a.String()+" is of another family than "+cidr.String()+": routes lead through addresses of their own family")
		case cidr.Contains(a):
			diags.AddAttributeError(at, "Address inside the pod network", a.String()+" is in "+cidr.String()+": a node's own address must be outside of it")
		case holder[a] != "":
			diags.AddAttributeError(at, "Address twice", a.String()+" is the one of node "+holder[a]+" too")
		}
		holder[a], all[name] = name, types.StringValue(a.String())
	}
	return all, diags
}
