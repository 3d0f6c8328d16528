package crud

import (
	"cmp"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/types"
)

// SplitPlace reads an import id of something that a hypervisor has, a name or an id, either of them after "HYPERVISOR/", into a
// model's attributes. It says whether the text is one.
func SplitPlace(text string, isID func(string) bool, hypervisor, id, name *types.String) bool {
	ref := text
	if first, rest, found := strings.Cut(text, "/"); found {
		*hypervisor, ref = types.StringValue(first), rest
	}
	switch {
	case ref == "" || strings.Contains(ref, "/"):
		return false
	case isID(ref):
		*id = types.StringValue(strings.ToLower(ref))
	default:
		// What was written is no id yet: the store would look for something of that name.
		*id, *name = types.StringNull(), types.StringValue(ref)
	}
	return true
}

// NameOrID is what messages call something that a hypervisor has: an import by its id has no name yet.
func NameOrID(name, id types.String) string { return cmp.Or(name.ValueString(), id.ValueString()) }
