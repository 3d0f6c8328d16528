package externalbridge

import (
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strconv"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/hostattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/bridge"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/hostnet"
)

const membersForm = `write names of interfaces, VLANs such as { interface = "eno1", vlan = 10 }, or bonds such as { bond = "bond0", interfaces = ["eno1", "eno2"], mode = "active-backup" }`

// readMembers adds to a bridge what is in it; what is unknown is left out.
func readMembers(v types.Dynamic, b *bridge.Bridge) (diags diag.Diagnostics) {
	elements, ok := convert.SequenceElements(v.UnderlyingValue())
	if v.IsUnknown() || v.IsUnderlyingValueUnknown() {
		return nil
	}
	if !ok {
		diags.AddAttributeError(path.Root("interfaces"), "Invalid interfaces", membersForm+", in a list")
		return diags
	}
	for i, e := range elements {
		if err := readMember(e, b); err != nil {
			diags.AddAttributeError(path.Root("interfaces"), "Invalid interface", fmt.Sprintf("element %d: %v: %s", i, err, membersForm))
		}
	}
	return diags
}

// wrongMembers says what is wrong with what shall be in a bridge.
func wrongMembers(v types.Dynamic) diag.Diagnostics { return readMembers(v, new(bridge.Bridge)) }

func readMember(v attr.Value, b *bridge.Bridge) error {
	if d, ok := v.(types.Dynamic); ok {
		v = d.UnderlyingValue()
	}
	if v == nil || v.IsNull() {
		return errors.New("it is null")
	}
	if text, ok := v.(types.String); ok {
		if text.Equal(types.StringValue("")) {
			return errors.New("it is an empty text")
		}
		if !text.IsUnknown() {
			b.Interfaces = append(b.Interfaces, text.ValueString())
		}
		return nil
	}
	object, ok := v.(types.Object)
	if !ok {
		return fmt.Errorf("%s is neither a name nor an object", v)
	}
	if object.IsUnknown() {
		return nil
	}
	at := object.Attributes()
	for name := range at {
		if !slices.Contains([]string{"interface", "vlan", "bond", "interfaces", "mode"}, name) {
			return fmt.Errorf("there is no %q here", name)
		}
	}
	text := func(name string) string {
		s, _ := at[name].(types.String)
		return s.ValueString()
	}
	switch has := func(name string) bool { v, ok := at[name]; return ok && !v.IsNull() }; {
	case has("bond") && !has("vlan") && !has("interface"):
		bond := bridge.Bond{Name: text("bond"), Mode: text("mode")}
		elements, _ := convert.SequenceElements(at["interfaces"])
		for _, e := range elements {
			if s, ok := e.(types.String); ok && !s.IsUnknown() {
				bond.Interfaces = append(bond.Interfaces, s.ValueString())
			}
		}
		if bond.Mode == "" {
			bond.Mode = "active-backup"
		}
		b.Bonds = append(b.Bonds, bond)
	case has("interface") && has("vlan") && !has("interfaces") && !has("mode"):
		id, err := readNumber(at["vlan"])
		if err != nil {
			return err
		}
		b.VLANs = append(b.VLANs, hostnet.VLANOptions{Parent: text("interface"), ID: id})
	default:
		return fmt.Errorf("it takes interface and vlan, or bond, interfaces and mode")
	}
	return nil
}

// readNumber reads a whole number; one that is unknown is 1, so that nothing is said of it.
func readNumber(v attr.Value) (int, error) {
	switch n := v.(type) {
	case basetypes.NumberValue:
		if n.IsUnknown() {
			return 1, nil
		}
		id, accuracy := n.ValueBigFloat().Int64()
		if accuracy == big.Exact {
			return int(id), nil
		}
	case types.String:
		if id, err := strconv.Atoi(n.ValueString()); err == nil {
			return id, nil
		}
	}
	return 0, fmt.Errorf("%s is no VLAN id", v)
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
func writeMembers(b bridge.Bridge) types.Dynamic {
	var kinds []attr.Type
	var values []attr.Value
	add := func(v attr.Value, t attr.Type) { kinds, values = append(kinds, t), append(values, v) }
	for _, name := range b.Interfaces {
		add(types.StringValue(name), types.StringType)
	}
	for _, v := range b.VLANs {
		of := map[string]attr.Type{"interface": types.StringType, "vlan": types.NumberType}
		add(types.ObjectValueMust(of, map[string]attr.Value{"interface": types.StringValue(v.Parent), "vlan": types.NumberValue(big.NewFloat(float64(v.ID)))}), types.ObjectType{AttrTypes: of})
	}
	for _, v := range b.Bonds {
		var names []attr.Value
		var texts []attr.Type
		for _, name := range v.Interfaces {
			names, texts = append(names, types.StringValue(name)), append(texts, types.StringType)
		}
		of := map[string]attr.Type{"bond": types.StringType, "mode": types.StringType, "interfaces": types.TupleType{ElemTypes: texts}}
		add(types.ObjectValueMust(of, map[string]attr.Value{"bond": types.StringValue(v.Name), "mode": types.StringValue(v.Mode), "interfaces": types.TupleValueMust(texts, names)}), types.ObjectType{AttrTypes: of})
	}
	return types.DynamicValue(types.TupleValueMust(kinds, values))
}
