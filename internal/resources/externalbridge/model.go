package externalbridge

import (
	"fmt"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/hostattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/bridge"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/hostnet"
)

type model struct {
	ID            types.String `tfsdk:"id"`
	Name          types.String `tfsdk:"name"`
	Host          types.String `tfsdk:"host"`
	Hypervisor    types.String `tfsdk:"hypervisor"`
	Interfaces    types.List   `tfsdk:"interfaces"`
	STP           types.Bool   `tfsdk:"stp"`
	VLANFiltering types.Bool   `tfsdk:"vlan_filtering"`
	hostattr.Addressing
	hostattr.Device
}

func (m *model) toSpec() (bridge.Bridge, diag.Diagnostics) {
	a, inherit, diags := m.Addressing.Spec()
	b := bridge.Bridge{
		Name: m.Name.ValueString(), STP: m.STP.ValueBool(), VLANFiltering: m.VLANFiltering.ValueBool(), MTU: int(m.MTU.ValueInt64()),
		Inherit: inherit, Addressing: a, Backend: m.Backend.ValueString(), RollbackTimeout: m.Rollback(),
	}
	diags.Append(readMembers(m.Interfaces, &b)...)
	return b, diags
}

// fillModel writes what the machine has into the model.
func (m *model) fillModel(got bridge.Bridge) diag.Diagnostics {
	want, diags := m.toSpec()
	if diags.HasError() && !m.Interfaces.IsNull() {
		return diags
	}
	diags = m.Addressing.Fill(got.Addressing, got.Inherit)
	m.STP, m.VLANFiltering = types.BoolValue(got.STP), types.BoolValue(got.VLANFiltering)
	m.FillDevice(got.MTU, got.Backend, got.ActiveBackend, got.RollbackTimeout)
	if !sameMembers(want, got) {
		m.Interfaces = writeMembers(got)
	}
	m.ActiveAddresses = convert.SpellList(got.Active)
	return diags
}

// defaultBondMode is what a bond does where nothing is written.
const defaultBondMode = "active-backup"

var (
	bondType   = map[string]attr.Type{"interfaces": types.ListType{ElemType: types.StringType}, "mode": types.StringType}
	memberType = types.ObjectType{AttrTypes: map[string]attr.Type{"interface": types.StringType, "vlan": types.Int64Type, "bond": types.ObjectType{AttrTypes: bondType}}}
)

// readMembers adds to a bridge what is in it; what is unknown is left out.
func readMembers(list types.List, b *bridge.Bridge) (diags diag.Diagnostics) {
	for i, e := range list.Elements() {
		member, ok := e.(types.Object)
		if !ok || !convert.Known(member) {
			continue
		}
		name, _ := member.Attributes()["interface"].(types.String)
		vlan, _ := member.Attributes()["vlan"].(types.Int64)
		bond, _ := member.Attributes()["bond"].(types.Object)
		switch {
		case !vlan.IsNull() && !bond.IsNull():
			diags.AddAttributeError(path.Root("interfaces").AtListIndex(i), "A VLAN and a bond in one", "write the bond and a VLAN of it as an element each")
		case name.IsUnknown() || vlan.IsUnknown() || bond.IsUnknown():
		case !vlan.IsNull():
			b.VLANs = append(b.VLANs, hostnet.VLANOptions{Parent: name.ValueString(), ID: int(vlan.ValueInt64())})
		case !bond.IsNull():
			ports, _ := bond.Attributes()["interfaces"].(types.List)
			mode, _ := bond.Attributes()["mode"].(types.String)
			b.Bonds = append(b.Bonds, bridge.Bond{Name: name.ValueString(), Interfaces: convert.KnownTexts(ports), Mode: mode.ValueString()})
			if made := &b.Bonds[len(b.Bonds)-1]; made.Mode == "" {
				made.Mode = defaultBondMode
			}
		default:
			b.Interfaces = append(b.Interfaces, name.ValueString())
		}
	}
	return diags
}

// sameMembers says whether two bridges are made of the same.
func sameMembers(a, b bridge.Bridge) bool {
	vlan := func(l []hostnet.VLANOptions) (names []string) {
		for _, v := range l {
			names = append(names, bridge.VLANDevice(v))
		}
		return names
	}
	bond := func(l []bridge.Bond) (texts []string) {
		for _, v := range l {
			texts = append(texts, fmt.Sprint(v.Name, v.Mode, slices.Sorted(slices.Values(v.Interfaces))))
		}
		return texts
	}
	return hostattr.SameSet(a.Interfaces, b.Interfaces) && hostattr.SameSet(vlan(a.VLANs), vlan(b.VLANs)) && hostattr.SameSet(bond(a.Bonds), bond(b.Bonds))
}

// writeMembers is what a bridge is made of, as the attribute has it.
func writeMembers(b bridge.Bridge) types.List {
	var all []attr.Value
	add := func(name string, vlan types.Int64, bond types.Object) {
		all = append(all, types.ObjectValueMust(memberType.AttrTypes, map[string]attr.Value{"interface": types.StringValue(name), "vlan": vlan, "bond": bond}))
	}
	for _, name := range b.Interfaces {
		add(name, types.Int64Null(), types.ObjectNull(bondType))
	}
	for _, v := range b.VLANs {
		add(v.Parent, types.Int64Value(int64(v.ID)), types.ObjectNull(bondType))
	}
	for _, v := range b.Bonds {
		mode := types.StringNull()
		if v.Mode != defaultBondMode {
			mode = types.StringValue(v.Mode)
		}
		add(v.Name, types.Int64Null(), types.ObjectValueMust(bondType, map[string]attr.Value{"interfaces": convert.List(v.Interfaces), "mode": mode}))
	}
	return types.ListValueMust(memberType, all)
}
