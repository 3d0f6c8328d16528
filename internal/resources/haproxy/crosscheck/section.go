package crosscheck

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/haproxy"
)

// self is the resource that is planned.
type self struct {
	// token is the resource's own. A provider is not told the address of a resource, so nothing else tells a
	// resource that is planned twice, for its replacement, from two resources that say the same.
	token string
	// creating says that it will be made for the first time, and not again after its replacement's removal.
	creating bool
	// was is its name so far.
	was string
}

const tokenKey = "resource"

// recognise finds the resource's token in its private state, which goes from one plan to the next, or makes one.
func recognise(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) self {
	var s self
	kept, diags := req.Private.GetKey(ctx, tokenKey)
	if diags.HasError() || json.Unmarshal(kept, &s.token) != nil || s.token == "" {
		s.token = rand.Text()
		s.creating = req.State.Raw.IsNull()
		encoded, err := json.Marshal(s.token)
		if err == nil && resp.Private != nil {
			resp.Diagnostics.Append(resp.Private.SetKey(ctx, tokenKey, encoded)...)
		}
	}
	if name, ok := req.State.Schema.GetAttributes()["name"]; ok && name != nil && !req.State.Raw.IsNull() {
		var was types.String
		resp.Diagnostics.Append(req.State.GetAttribute(ctx, path.Root("name"), &was)...)
		s.was = was.ValueString()
	}
	return s
}

// Section lays claim to a frontend or a backend, and reports that another resource of the plan or a person
// provides it.
func (n Node) Section(ctx context.Context, kind, name, importID string) diag.Diagnostics {
	diags := n.only(path.Root("name"), kind+" "+name, "Name taken",
		fmt.Sprintf("another resource of this configuration provides the %s %q on %s too: give one of them another name", kind, name, n))
	if !n.self.creating && (n.self.was == "" || n.self.was == name) {
		return diags
	}
	tree, _ := n.live(ctx)
	if err := haproxy.Foreign(tree, kind, name, importID); err != nil {
		diags.AddAttributeError(path.Root("name"), "Name taken", err.Error())
	}
	return diags
}

// Base lays claim to the base configuration.
func (n Node) Base() diag.Diagnostics {
	return n.only(path.Root("service_node"), "base", "Two base configurations",
		fmt.Sprintf("another virtcluster_haproxy of this configuration is for %s too: a service node has one", n))
}

// only reports that the resource is not the only one that provides a section.
func (n Node) only(at path.Path, section, summary, detail string) diag.Diagnostics {
	var diags diag.Diagnostics
	if len(n.fleet.Claims.Replace("resource "+n.self.token, n.claim("section", section))) > 0 {
		diags.AddAttributeError(at, summary, detail)
	}
	return diags
}
