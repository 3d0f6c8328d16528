// Package volume is virtcluster_volume: a disk in a storage pool, empty or an overlay of an image.
package volume

import (
	"context"
	"errors"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/fleet"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/storagepool"
)

var (
	_ resource.ResourceWithConfigure      = (*volumeResource)(nil)
	_ resource.ResourceWithImportState    = (*volumeResource)(nil)
	_ resource.ResourceWithIdentity       = (*volumeResource)(nil)
	_ resource.ResourceWithModifyPlan     = (*volumeResource)(nil)
	_ resource.ResourceWithValidateConfig = (*volumeResource)(nil)
)

// identity names a volume.
var identity = []string{"hypervisor", "pool", "name"}

type volumeResource struct{ fleet *fleet.Fleet }

// New makes the resource.
func New() resource.Resource { return &volumeResource{} }

func (r *volumeResource) Metadata(_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_volume"
}

func (r *volumeResource) Schema(_ context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = volumeSchema()
}

func (r *volumeResource) IdentitySchema(_ context.Context, _ resource.IdentitySchemaRequest, resp *resource.IdentitySchemaResponse) {
	resp.IdentitySchema = crud.IdentitySchema(identity...)
}

func (r *volumeResource) Configure(_ context.Context, req resource.ConfigureRequest, _ *resource.ConfigureResponse) {
	if f, ok := req.ProviderData.(*fleet.Fleet); ok {
		r.fleet = f
	}
}

func what(m *model) string {
	return fmt.Sprintf("volume %q in storage pool %q", m.Name.ValueString(), m.Pool.ValueString())
}

func (r *volumeResource) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	var m model
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	c, err := r.fleet.Hypervisor(ctx, m.Hypervisor.ValueString())
	if err == nil {
		err = storagepool.Creating(r.fleet, m.Hypervisor, m.Pool, m.Name)
	}
	var v *hypervisor.Volume
	if err == nil {
		v, err = create(ctx, c, &m)
	}
	if err != nil {
		resp.Diagnostics.Append(crud.Failure("create", what(&m), err))
		return
	}
	m.fill(v)
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
	resp.Diagnostics.Append(crud.Identify(ctx, resp.State, resp.Identity, identity...)...)
}

func (r *volumeResource) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	var m model
	resp.Diagnostics.Append(req.State.Get(ctx, &m)...)
	// A CLI without identities sends none, and the framework wants one even of what turns out to be gone.
	resp.Diagnostics.Append(crud.Identify(ctx, req.State, resp.Identity, identity...)...)
	if resp.Diagnostics.HasError() || r.fleet == nil {
		return
	}
	c, err := r.fleet.Hypervisor(ctx, m.Hypervisor.ValueString())
	if errors.Is(err, fleet.ErrUnknown) {
		return
	}
	var v *hypervisor.Volume
	if err == nil {
		v, err = c.Volume(ctx, m.Pool.ValueString(), m.Name.ValueString())
	}
	switch {
	case errors.Is(err, hypervisor.ErrPoolStopped):
		resp.Diagnostics.AddWarning("Cannot look at "+what(&m), "Its storage pool is stopped, so what is known of it stays. Start the pool to have it checked.")
		return
	case hypervisor.IsNotFound(err):
		resp.State.RemoveResource(ctx)
		return
	case err != nil:
		resp.Diagnostics.Append(crud.Failure("read", what(&m), err))
		return
	}
	m.fill(v)
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}

// Update grows the volume: nothing else can change in place.
func (r *volumeResource) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	var m model
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	v, err := r.grow(ctx, &m)
	if err != nil {
		resp.Diagnostics.Append(crud.Failure("grow", what(&m), err))
		return
	}
	m.fill(v)
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
	resp.Diagnostics.Append(crud.Identify(ctx, resp.State, resp.Identity, identity...)...)
}

func (r *volumeResource) grow(ctx context.Context, m *model) (*hypervisor.Volume, error) {
	c, err := r.fleet.Hypervisor(ctx, m.Hypervisor.ValueString())
	if err != nil {
		return nil, err
	}
	v, err := c.Volume(ctx, m.Pool.ValueString(), m.Name.ValueString())
	if err != nil || v.Capacity() >= m.bytes(nil) {
		return v, err
	}
	if err := c.GrowVolume(ctx, v, m.bytes(nil)); err != nil {
		return nil, err
	}
	return c.Volume(ctx, m.Pool.ValueString(), m.Name.ValueString())
}

func (r *volumeResource) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	var m model
	resp.Diagnostics.Append(req.State.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	c, err := r.fleet.Hypervisor(ctx, m.Hypervisor.ValueString())
	if err == nil {
		err = c.DeleteVolume(ctx, m.Pool.ValueString(), m.Name.ValueString())
	}
	if err != nil {
		resp.Diagnostics.Append(crud.Failure("delete", what(&m), err))
	}
}

// ImportState takes "pool/name", "hypervisor/pool/name", or the volume's path on the provider's own hypervisor.
func (r *volumeResource) ImportState(ctx context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	place, diags := storagepool.ImportPlace(ctx, r.fleet, req)
	resp.Diagnostics.Append(diags...)
	if resp.Diagnostics.HasError() {
		return
	}
	resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root("pool"), place.Pool)...)
	resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root("name"), place.Name)...)
	if place.Hypervisor != "" {
		resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root("hypervisor"), place.Hypervisor)...)
	}
}
