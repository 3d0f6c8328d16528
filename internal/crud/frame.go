package crud

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/fleet"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/plan/ledger"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/run"
)

// ProviderData is what the provider hands to its resources and data sources. All are nil while it is not configured.
type ProviderData struct {
	// Fleet has the connections.
	Fleet *fleet.Fleet
	// Ledger has what the resources of the running plan use. It knows no connections, and these do not know it.
	Ledger *ledger.Ledger
	// Run has what the resources did in this run.
	Run *run.Memory
	// Version is the provider's: "1.2.3", or "dev".
	Version string
}

// ownerRun returns what this run made and was told of its state; nil while the provider is not configured.
func (p ProviderData) ownerRun() *owner.Run {
	if p.Run == nil {
		return nil
	}
	return p.Run.Owners
}

// RefuseOffline refuses what would change something while the provider is offline, and says whether it did: `Cannot create node "a"`.
func (p ProviderData) RefuseOffline(verb, what string, diags *diag.Diagnostics) bool {
	if p.Fleet == nil || !p.Fleet.Offline() {
		return false
	}
	diags.AddError(fmt.Sprintf("Cannot %s %s", verb, what), fleet.ErrOffline.Error()+".")
	return true
}

// readProviderData reads it from a request.
func readProviderData(data any, diags *diag.Diagnostics) ProviderData {
	if data == nil {
		return ProviderData{}
	}
	p, ok := data.(ProviderData)
	if !ok {
		diags.AddError("Unexpected provider data", fmt.Sprintf("got %T", data))
	}
	return p
}

// frame is what data sources and actions have in common: a model M of what their configuration says, and what the provider hands to them.
type frame[M any] struct{ provided ProviderData }

// keepProvided takes what the provider hands over.
func (f *frame[M]) keepProvided(data any, diags *diag.Diagnostics) {
	f.provided = readProviderData(data, diags)
}

// readConfig reads the model of what is to be read or done now. A provider that is not configured cannot do either; ok is false after an error.
func (f *frame[M]) readConfig(ctx context.Context, config tfsdk.Config, diags *diag.Diagnostics) (m M, ok bool) {
	diags.Append(config.Get(ctx, &m)...)
	if f.provided.Fleet == nil {
		diags.AddError("Provider is not configured", fleet.ErrUnknown.Error())
	}
	return m, !diags.HasError()
}

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
