package vip

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/keepalived"
)

// member is one of `members` as it is written, or one of `instances`: written with all that was left out.
type member struct {
	// Name is its key in a map; "" in a list.
	Name        string       `tfsdk:"-"`
	ServiceNode types.String `tfsdk:"service_node"`
	Interface   types.String `tfsdk:"interface"`
	Address     types.String `tfsdk:"address"`
	Priority    types.Int64  `tfsdk:"priority"`
	State       types.String `tfsdk:"state"`
}

// memberKeys are the attributes of a member.
var memberKeys = slices.Sorted(maps.Keys(memberType.AttrTypes))

// readMembers returns the members as they are written, in the order of their names or their places. `members` is a map by name, or
// a list as it was before: no type of Terraform's is either, so they come as a dynamic value, which is checked here. list says
// which they are. What is not known at all has no members.
func readMembers(d types.Dynamic) (members []member, list bool, err error) {
	var value attr.Value = d
	if unwrapDynamic(&value); value == nil || !convert.Known(value) {
		return nil, false, nil
	}
	switch v := value.(type) {
	case types.Object:
		members, err = readNamedMembers(v.Attributes())
	case types.Map:
		members, err = readNamedMembers(v.Elements())
	default:
		var elements []attr.Value
		if elements, list = convert.SequenceElements(v); list {
			members, err = readListedMembers(elements)
			break
		}
		err = placeInMembers(errors.New(`write a map of members by name, such as { svc-1 = { service_node = …, interface = "eth0" } }`))
	}
	return members, list, err
}

// unwrapDynamic replaces a dynamic value by what is in it; nil where nothing is known of it.
func unwrapDynamic(v *attr.Value) {
	for {
		d, dynamic := (*v).(types.Dynamic)
		if !dynamic {
			return
		}
		if *v = d.UnderlyingValue(); *v == nil {
			if !d.IsNull() {
				*v = types.StringUnknown()
			}
			return
		}
	}
}

func readNamedMembers(elements map[string]attr.Value) ([]member, error) {
	var all []member
	for _, name := range slices.Sorted(maps.Keys(elements)) {
		m, err := readMember(elements[name], service.Key(name))
		if err != nil {
			return nil, err
		}
		m.Name = name
		all = append(all, m)
	}
	return all, nil
}

func readListedMembers(elements []attr.Value) ([]member, error) {
	var all []member
	for i, e := range elements {
		m, err := readMember(e, i)
		if err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	return all, nil
}

// placeInMembers places an error in `members`.
func placeInMembers(err error, steps ...any) error {
	return service.At(append([]any{"members"}, steps...), err)
}

func readMember(v attr.Value, at any) (member, error) {
	if unwrapDynamic(&v); v == nil || v.IsNull() {
		return member{}, placeInMembers(errors.New("a member cannot be null: leave it out"), at)
	}
	if v.IsUnknown() {
		unknown := types.StringUnknown()
		return member{ServiceNode: unknown, Interface: unknown, Address: unknown, Priority: types.Int64Unknown(), State: unknown}, nil
	}
	var attributes map[string]attr.Value
	switch o := v.(type) {
	case types.Object:
		attributes = o.Attributes()
	case types.Map:
		attributes = o.Elements()
	default:
		return member{}, placeInMembers(errors.New(`write an object: { service_node = …, interface = "eth0" }`), at)
	}
	for _, key := range slices.Sorted(maps.Keys(attributes)) {
		if !slices.Contains(memberKeys, key) {
			return member{}, placeInMembers(fmt.Errorf("a member has no %s: it has %s", key, strings.Join(memberKeys, ", ")), at, key)
		}
	}
	var m member
	for key, field := range map[string]*types.String{"service_node": &m.ServiceNode, "interface": &m.Interface, "address": &m.Address, "state": &m.State} {
		var err error
		if *field, err = readString(attributes[key]); err != nil {
			return m, placeInMembers(err, at, key)
		}
	}
	if convert.Known(m.ServiceNode) { // two references to one machine are one
		m.ServiceNode = types.StringValue(host.ShortenReferences(m.ServiceNode.ValueString()))
	}
	var err error
	if m.Priority, err = readWholeNumber(attributes["priority"]); err != nil {
		return m, placeInMembers(err, at, "priority")
	}
	for key, field := range map[string]types.String{"service_node": m.ServiceNode, "interface": m.Interface} {
		if field.IsNull() {
			return m, placeInMembers(fmt.Errorf("a member needs %s", key), at)
		}
	}
	return m, nil
}

// readString reads a text; null where there is none.
func readString(v attr.Value) (types.String, error) {
	if v == nil {
		return types.StringNull(), nil
	}
	unwrapDynamic(&v)
	switch {
	case v == nil || v.IsNull():
		return types.StringNull(), nil
	case v.IsUnknown():
		return types.StringUnknown(), nil
	}
	if text, is := v.(types.String); is {
		return text, nil
	}
	return types.StringNull(), fmt.Errorf("write a text, not %s", v)
}

// readWholeNumber reads a number, or a text of one, which Terraform takes for the same; null where there is none.
func readWholeNumber(v attr.Value) (types.Int64, error) {
	if v == nil {
		return types.Int64Null(), nil
	}
	unwrapDynamic(&v)
	switch {
	case v == nil || v.IsNull():
		return types.Int64Null(), nil
	case v.IsUnknown():
		return types.Int64Unknown(), nil
	}
	var n int64
	exact := false
	switch number := v.(type) {
	case types.Int64:
		n, exact = number.ValueInt64(), true
	case types.Number:
		var accuracy big.Accuracy
		n, accuracy = number.ValueBigFloat().Int64()
		exact = accuracy == big.Exact
	case types.String:
		var err error
		n, err = strconv.ParseInt(number.ValueString(), 10, 64)
		exact = err == nil
	}
	if !exact {
		return types.Int64Null(), fmt.Errorf("write a whole number, not %s", v)
	}
	return types.Int64Value(n), nil
}

// listTitles returns what the members are called: see keepalived.Titles. Those that are not known yet are "".
func listTitles(members []member) []string {
	plain := make([]keepalived.Member, 0, len(members))
	for _, m := range members {
		plain = append(plain, keepalived.Member{Name: m.Name, ID: m.ServiceNode.ValueString()})
	}
	return keepalived.Titles(plain)
}

// writeMembers returns `members` with all its attributes, as an import makes it: a map.
func writeMembers(members map[string]member) types.Dynamic {
	objects, kinds := map[string]attr.Value{}, map[string]attr.Type{}
	for name, m := range members {
		objects[name], kinds[name] = m.toObject(), memberType
	}
	return types.DynamicValue(types.ObjectValueMust(kinds, objects))
}

func (m member) toObject() types.Object {
	return types.ObjectValueMust(memberType.AttrTypes, map[string]attr.Value{
		"service_node": m.ServiceNode, "interface": m.Interface, "address": m.Address, "priority": m.Priority, "state": m.State,
	})
}

// readInstances returns the members by name, complete; nil where they are not known.
func (m *model) readInstances(ctx context.Context) map[string]member {
	if !convert.Known(m.Instances) {
		return nil
	}
	var all map[string]member
	if m.Instances.ElementsAs(ctx, &all, false).HasError() {
		return nil
	}
	return all
}

// completeMembers returns the members with what the instances say where the configuration says nothing.
func (m *model) completeMembers(ctx context.Context, diags *diag.Diagnostics) []member {
	members, _, err := readMembers(m.Members)
	if err != nil {
		diags.Append(crud.Diagnostic("Invalid members", err))
		return nil
	}
	instances := m.readInstances(ctx)
	for i, title := range listTitles(members) {
		members[i].fillIn(instances[title])
		if members[i].State.IsNull() {
			members[i].State = types.StringValue("BACKUP")
		}
	}
	return members
}

// fillIn takes from another what is not written.
func (m *member) fillIn(from member) {
	if m.Address.IsNull() && !from.Address.IsUnknown() {
		m.Address = from.Address
	}
	if m.Priority.IsNull() && !from.Priority.IsUnknown() {
		m.Priority = from.Priority
	}
	if m.State.IsNull() && !from.State.IsUnknown() {
		m.State = from.State
	}
}
