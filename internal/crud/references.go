package crud

import (
	"context"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// Reference is what an attribute names: an object of a type, by an attribute of that.
type Reference struct {
	Type, Attribute string
	// Anywhere says that what is named may be at another place than what names it, as its own is in the text.
	Anywhere bool
	// Beside is an attribute that both have alike, as a zone is called by its name in each view; "" for none.
	Beside string
}

// References says, by the names of attributes, what their texts name, or the texts in their lists and sets. One name means the same in all types, at
// whatever depth it stands: a `pool` of what is on a hypervisor is a pool of storage there, and one of what is on a machine is its pool of addresses.
var References = map[string][]Reference{
	"network":         {{Type: typePrefix + "network", Attribute: "name"}},
	"pool":            {{Type: typePrefix + "storage_pool", Attribute: "name"}, {Type: typePrefix + "address_pool", Attribute: "id"}},
	"image":           {{Type: typePrefix + "image", Attribute: "id"}},
	"volume":          {{Type: typePrefix + "volume", Attribute: "id"}},
	"view":            {{Type: typePrefix + "dns_view", Attribute: "name"}},
	"zone":            {{Type: typePrefix + "dns_zone", Attribute: "name", Beside: "view"}},
	"backend":         {{Type: typePrefix + "haproxy_backend", Attribute: "name"}},
	"default_backend": {{Type: typePrefix + "haproxy_backend", Attribute: "name"}},
	"networks":        {{Type: typePrefix + "ovn_network", Attribute: "name"}},
	"router":          {{Type: typePrefix + "ovn_router", Attribute: "name"}},
	"ovn_network":     {{Type: typePrefix + "ovn_network", Attribute: "id", Anywhere: true}},
}

// target is an object that others may refer to: where it is, the text by which they name it, and what is alike beside that.
type target struct {
	Reference
	place, text, beside string
}

// newTarget returns the target that a text names in an object, be it its own or another one's.
func (r Reference) newTarget(ctx context.Context, f Found, of schema.Schema, text string) target {
	place := ""
	if !r.Anywhere {
		place = placeOf(ctx, f, of)
	}
	return target{r, place, text, textOf(ctx, f, of, r.Beside)}
}

// targets are such objects with the labels under which they are written.
type targets map[target]string

// addTarget notes what names an object that is written under a label.
func (t targets) addTarget(ctx context.Context, f Found, of schema.Schema, label string) {
	for _, all := range References {
		for _, r := range all {
			if text := textOf(ctx, f, of, r.Attribute); r.Type == f.Type && text != "" {
				t[r.newTarget(ctx, f, of, text)] = label
			}
		}
	}
}

// findReference returns the expression that an attribute of an object has instead of a text; nil where that names nothing that is written too.
func (t targets) findReference(ctx context.Context, f Found, of schema.Schema, attribute, text string) hclwrite.Tokens {
	for _, r := range References[attribute] {
		if label, there := t[r.newTarget(ctx, f, of, text)]; there && r.Type != f.Type {
			return hclwrite.TokensForTraversal(hcl.Traversal{hcl.TraverseRoot{Name: r.Type}, hcl.TraverseAttr{Name: label}, hcl.TraverseAttr{Name: r.Attribute}})
		}
	}
	return nil
}

// placeOf says where an object is: the hypervisor or the machine, as its attribute has it.
func placeOf(ctx context.Context, f Found, of schema.Schema) string {
	for _, name := range placeAttributes {
		if _, has := of.Attributes[name]; has {
			return name + " " + textOf(ctx, f, of, name)
		}
	}
	return ""
}

// textOf returns the text of an attribute; "" where there is none.
func textOf(ctx context.Context, f Found, of schema.Schema, attribute string) string {
	var v types.String
	if _, has := of.Attributes[attribute]; !has || f.State.GetAttribute(ctx, path.Root(attribute), &v).HasError() {
		return ""
	}
	return v.ValueString()
}
