// Package volume is virtcluster_volume: a disk in a storage pool, empty or an overlay of an image.
package volume

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
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

type volumeResource struct{ crud.Base }

// New makes the resource.
func New() resource.Resource {
	return &volumeResource{crud.Base{Name: "volume", Key: []string{"hypervisor", "pool", "name"}}}
}

func (r *volumeResource) Schema(_ context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = volumeSchema()
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
	c, err := r.Fleet.Hypervisor(ctx, m.Hypervisor.ValueString())
	if err == nil {
		err = storagepool.Creating(r.Fleet, m.Hypervisor, m.Pool, m.Name)
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
	resp.Diagnostics.Append(r.Identify(ctx, resp.State, resp.Identity)...)
}

func (r *volumeResource) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	var m model
	resp.Diagnostics.Append(req.State.Get(ctx, &m)...)
	// A CLI without identities sends none, and the framework wants one even of what turns out to be gone.
	resp.Diagnostics.Append(r.Identify(ctx, req.State, resp.Identity)...)
	if resp.Diagnostics.HasError() || r.Fleet == nil {
		return
	}
	_, v := storagepool.Look(ctx, r.Fleet, what(&m), m.Hypervisor, m.Pool, m.Name, resp)
	if v == nil {
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
	resp.Diagnostics.Append(r.Identify(ctx, resp.State, resp.Identity)...)
}

func (r *volumeResource) grow(ctx context.Context, m *model) (*hypervisor.Volume, error) {
	c, err := r.Fleet.Hypervisor(ctx, m.Hypervisor.ValueString())
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
	c, err := r.Fleet.Hypervisor(ctx, m.Hypervisor.ValueString())
	if err == nil {
		err = c.DeleteVolume(ctx, m.Pool.ValueString(), m.Name.ValueString())
	}
	if err != nil {
		resp.Diagnostics.Append(crud.Failure("delete", what(&m), err))
	}
}

// ImportState takes "pool/name", "hypervisor/pool/name", or the volume's path on the provider's own hypervisor.
func (r *volumeResource) ImportState(ctx context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	storagepool.ImportVolume(ctx, r.Fleet, req, resp)
}
