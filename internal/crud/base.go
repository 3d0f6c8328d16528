package crud

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
)

// Base is embedded in resources that read and write in their own way, and has what those too have in common.
type Base struct {
	// Name and Key are what they are in a Type.
	Name string
	Key  []string
	ProviderData
}

// Metadata implements resource.Resource.
func (b *Base) Metadata(_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_" + b.Name
}

// IdentitySchema implements resource.ResourceWithIdentity.
func (b *Base) IdentitySchema(_ context.Context, _ resource.IdentitySchemaRequest, resp *resource.IdentitySchemaResponse) {
	resp.IdentitySchema = IdentitySchema(b.Key...)
}

// Configure implements resource.ResourceWithConfigure.
func (b *Base) Configure(_ context.Context, req resource.ConfigureRequest, resp *resource.ConfigureResponse) {
	b.ProviderData = readProviderData(req.ProviderData, &resp.Diagnostics)
}

// Identify copies the key from state to the identity.
func (b *Base) Identify(ctx context.Context, state tfsdk.State, identity *tfsdk.ResourceIdentity) diag.Diagnostics {
	return Identify(ctx, state, identity, b.Key...)
}
