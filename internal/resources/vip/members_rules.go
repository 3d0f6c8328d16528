package vip

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
)

// mostPriority is the highest that a member may have: 255 is that of the router whose own the addresses are (RFC 5798, section 5.2.4).
const mostPriority = 254

// memberRules are what the attributes of a member hold.
var memberRules = map[string]values.Rule{
	"service_node": values.Endpoint, "interface": values.Device, "address": values.Address, "state": values.OneOf("MASTER", "BACKUP"),
	"priority": values.Between(1, mostPriority),
}

// wrongMember says what is wrong with the attributes of a member, which is at a place of `members`.
func wrongMember(m member, at path.Path) (diags diag.Diagnostics) {
	attributes := m.toObject().Attributes()
	for _, name := range memberKeys {
		for _, d := range memberRules[name].Check(at.AtName(name), attributes[name]) {
			diags.AddAttributeError(path.Root("members"), d.Summary(), d.Detail())
		}
	}
	return diags
}

// exampleKey is what the first member of a list may be called in a map: as it is in the list, where that is known yet.
func exampleKey(members []member) string { return cmp.Or(listTitles(members)[0], "svc-1") }

// wrongMembers says what is no map of members, and tells how a list is written as one.
func wrongMembers(v types.Dynamic) (diags diag.Diagnostics) {
	members, list, err := readMembers(v)
	at := path.Root("members")
	switch {
	case err != nil:
		diags.Append(crud.Diagnostic("Invalid members", err))
	case v.IsUnknown() || v.IsUnderlyingValueUnknown():
	case slices.ContainsFunc(members, func(m member) bool { return !list && m.Name == "" }):
		diags.AddAttributeError(at, "Member without a name", "write a name for a key, not an empty text")
	case len(members) == 0:
		diags.AddAttributeError(at, "No members", "write at least one member, and two to have another one take over")
	case list:
		diags.AddAttributeWarning(at, "Members as a list", "Write a map of members by name, such as { "+strconv.Quote(exampleKey(members))+" = { service_node = …, interface = … } }: "+
			"the names then tell the members apart in plans and in owner. The change alone does nothing on the machines. A later version takes a map only.")
	}
	for i, m := range members {
		place := at.AtMapKey(m.Name)
		if list {
			place = at.AtListIndex(i)
		}
		diags.Append(wrongMember(m, place)...)
	}
	return diags
}
