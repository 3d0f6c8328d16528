package crud

import (
	"context"
	"errors"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/ephemeral"
	"github.com/hashicorp/terraform-plugin-framework/ephemeral/schema"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/fleet"
)

// Ephemeral describes an ephemeral resource with the model M: what is its own; all else is alike for all.
type Ephemeral[M any] struct {
	// Name is the type's name without the provider's prefix: "kubeconfig".
	Name   string
	Schema schema.Schema
	// Open completes the model, which has the configuration in it. A fleet.ErrUnknown leaves it as it is: a plan whose machines may not be
	// asked yet, or at all, goes on with nulls, as nothing keeps them. A lost hypervisor is an error, as an apply would go on with them too.
	Open func(ctx context.Context, p ProviderData, m *M) (diag.Diagnostics, error)
	// What names the thing in messages: `kubeconfig of core@10.0.0.11`.
	What func(m *M) string
}

// NewEphemeral makes the ephemeral resource.
func NewEphemeral[M any](e Ephemeral[M]) ephemeral.EphemeralResource {
	return &ephemeralResource[M]{Ephemeral: e}
}

type ephemeralResource[M any] struct {
	Ephemeral[M]
	frame[M]
}

// Metadata implements ephemeral.EphemeralResource.
func (e *ephemeralResource[M]) Metadata(_ context.Context, req ephemeral.MetadataRequest, resp *ephemeral.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_" + e.Name
}

// Schema implements ephemeral.EphemeralResource.
func (e *ephemeralResource[M]) Schema(_ context.Context, _ ephemeral.SchemaRequest, resp *ephemeral.SchemaResponse) {
	resp.Schema = e.Ephemeral.Schema
}

// Configure implements ephemeral.EphemeralResourceWithConfigure.
func (e *ephemeralResource[M]) Configure(_ context.Context, req ephemeral.ConfigureRequest, resp *ephemeral.ConfigureResponse) {
	e.keepProvided(req.ProviderData, &resp.Diagnostics)
}

// Open implements ephemeral.EphemeralResource.
func (e *ephemeralResource[M]) Open(ctx context.Context, req ephemeral.OpenRequest, resp *ephemeral.OpenResponse) {
	m, ok := e.readConfig(ctx, req.Config, &resp.Diagnostics)
	if !ok {
		return
	}
	opened := m
	diags, err := e.Ephemeral.Open(ctx, e.provided, &opened)
	switch {
	case errors.Is(err, fleet.ErrUnknown) && !errors.As(err, new(*fleet.LostError)):
		opened = m
	case err != nil:
		diags.Append(NewFailure("open", e.What(&m), err))
	}
	resp.Diagnostics.Append(diags...)
	if !resp.Diagnostics.HasError() {
		resp.Diagnostics.Append(resp.Result.Set(ctx, &opened)...)
	}
}
