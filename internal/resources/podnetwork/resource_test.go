package podnetwork

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// TestAPodNetworkIsImportedByItsIdentity imports a pod network by the identity that an import by its id has left.
func TestAPodNetworkIsImportedByItsIdentity(t *testing.T) {
	t.Parallel()
	r := New().(resource.ResourceWithImportState)
	var ids resource.IdentitySchemaResponse
	r.(resource.ResourceWithIdentity).IdentitySchema(t.Context(), resource.IdentitySchemaRequest{}, &ids)
	newIdentity := func() *tfsdk.ResourceIdentity {
		return &tfsdk.ResourceIdentity{Schema: ids.IdentitySchema, Raw: tftypes.NewValue(ids.IdentitySchema.Type().TerraformType(t.Context()), nil)}
	}
	read := func(req resource.ImportStateRequest) (m model, id string) {
		t.Helper()
		s := resourceSchema(t.Context())
		resp := resource.ImportStateResponse{State: tfsdk.State{Schema: s, Raw: tftypes.NewValue(s.Type().TerraformType(t.Context()), nil)}, Identity: newIdentity()}
		r.ImportState(t.Context(), req, &resp)
		resp.Diagnostics.Append(resp.State.Get(t.Context(), &m)...)
		resp.Diagnostics.Append(resp.Identity.GetAttribute(t.Context(), path.Root("id"), &id)...)
		if resp.Diagnostics.HasError() {
			t.Fatal(resp.Diagnostics)
		}
		return m, id
	}
	const text = "10.128.0.0/14,23,n1=10.0.100.101=10.128.0.0/23,n3=10.0.100.103=10.128.4.0/23"
	byID, id := read(resource.ImportStateRequest{ID: text})
	if id != text {
		t.Errorf("the identity is %q", id)
	}
	identity := newIdentity()
	if diags := identity.SetAttribute(t.Context(), path.Root("id"), types.StringValue(id)); diags.HasError() {
		t.Fatal(diags)
	}
	byIdentity, again := read(resource.ImportStateRequest{Identity: identity})
	if again != text || !byIdentity.PodCIDRs.Equal(byID.PodCIDRs) || !byIdentity.Nodes.Equal(byID.Nodes) || !byIdentity.Routes.Equal(byID.Routes) {
		t.Errorf("by the identity it is %v, by its id %v", byIdentity, byID)
	}
}
