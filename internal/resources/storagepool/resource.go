// Package storagepool is virtcluster_storage_pool, and what images and volumes have to know of pools.
package storagepool

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-log/tflog"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/fleet"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
)

var (
	_ resource.ResourceWithConfigure   = (*storagePool)(nil)
	_ resource.ResourceWithImportState = (*storagePool)(nil)
	_ resource.ResourceWithIdentity    = (*storagePool)(nil)
	_ resource.ResourceWithModifyPlan  = (*storagePool)(nil)
)

type storagePool struct{ crud.Base }

// New makes the resource.
func New() resource.Resource {
	return &storagePool{crud.Base{Name: "storage_pool", Key: []string{"hypervisor", "name"}}}
}

func (r *storagePool) Schema(_ context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = poolSchema()
}

func what(m *model) string { return fmt.Sprintf("storage pool %q", m.Name.ValueString()) }

func (r *storagePool) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	var m model
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	c, err := r.Fleet.Hypervisor(ctx, m.Hypervisor.ValueString())
	var p *hypervisor.Pool
	if err == nil {
		p, err = create(ctx, c, m.Name.ValueString(), m.Path.ValueString())
	}
	if err != nil {
		resp.Diagnostics.Append(crud.Failure("create", what(&m), err))
		return
	}
	wanted := m
	m.fill(p)
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...) // the pool exists from here on
	resp.Diagnostics.Append(r.Identify(ctx, resp.State, resp.Identity)...)
	r.adjust(ctx, c, "create", p, &wanted, &resp.State, &resp.Diagnostics)
}

func (r *storagePool) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	var m model
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	c, err := r.Fleet.Hypervisor(ctx, m.Hypervisor.ValueString())
	var p *hypervisor.Pool
	if err == nil {
		p, err = c.Pool(ctx, m.ID.ValueString())
	}
	if err != nil {
		resp.Diagnostics.Append(crud.Failure("update", what(&m), err))
		return
	}
	r.adjust(ctx, c, "update", p, &m, &resp.State, &resp.Diagnostics)
	resp.Diagnostics.Append(r.Identify(ctx, resp.State, resp.Identity)...)
}

// adjust makes what can be changed in a pool as it is wanted, and reads it back.
func (r *storagePool) adjust(ctx context.Context, c *hypervisor.Client, verb string, p *hypervisor.Pool, m *model, state *tfsdk.State, diags *diag.Diagnostics) {
	var err error
	if p.Autostart != m.Autostart.ValueBool() {
		err = c.SetPoolAutostart(ctx, p.UUID(), m.Autostart.ValueBool())
	}
	switch {
	case err != nil || p.Active == m.Active.ValueBool():
	case p.Active:
		err = c.StopPool(ctx, p.UUID())
	default:
		err = start(ctx, c, p.Name())
	}
	if err == nil {
		p, err = c.Pool(ctx, p.Name())
	}
	if err != nil {
		diags.Append(crud.Failure(verb, what(m), err))
		return
	}
	planned := *m
	m.fill(p)
	if !planned.CapacityBytes.IsUnknown() { // then the plan promised that they stay
		m.CapacityBytes, m.AvailableBytes = planned.CapacityBytes, planned.AvailableBytes
	}
	diags.Append(state.Set(ctx, m)...)
}

func (r *storagePool) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	var m model
	resp.Diagnostics.Append(req.State.Get(ctx, &m)...)
	// A CLI without identities sends none, and the framework wants one even of what turns out to be gone.
	resp.Diagnostics.Append(r.Identify(ctx, req.State, resp.Identity)...)
	if resp.Diagnostics.HasError() || r.Fleet == nil {
		return
	}
	c, err := r.Fleet.Hypervisor(ctx, m.Hypervisor.ValueString())
	if errors.Is(err, fleet.ErrUnknown) {
		return
	}
	var p *hypervisor.Pool
	if err == nil {
		p, err = find(ctx, c, &m)
	}
	if err == nil && p.Active {
		p, err = look(ctx, c, p)
	}
	switch {
	case hypervisor.IsNotFound(err):
		resp.State.RemoveResource(ctx)
		return
	case err != nil:
		resp.Diagnostics.Append(crud.Failure("read", what(&m), err))
		return
	}
	m.fill(p)
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
	resp.Diagnostics.Append(r.Identify(ctx, resp.State, resp.Identity)...)
}

// find reads the pool by its id, or by its name where it is being imported or was made anew by hand.
func find(ctx context.Context, c *hypervisor.Client, m *model) (*hypervisor.Pool, error) {
	if id := m.ID.ValueString(); id != "" {
		p, err := c.Pool(ctx, id)
		if err == nil || !hypervisor.IsNotFound(err) {
			return p, err
		}
	}
	return c.Pool(ctx, m.Name.ValueString())
}

// look has libvirt look into a started pool. It stops one whose directory is gone.
func look(ctx context.Context, c *hypervisor.Client, p *hypervisor.Pool) (*hypervisor.Pool, error) {
	if err := c.RefreshPool(ctx, p.UUID()); err != nil && hypervisor.Code(err) == 0 {
		return nil, err
	} else if err != nil {
		tflog.Warn(ctx, "libvirt cannot look into a storage pool", map[string]any{"pool": p.Name(), "reason": err.Error()})
	}
	return c.Pool(ctx, p.UUID())
}

func (r *storagePool) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	var m model
	resp.Diagnostics.Append(req.State.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	c, err := r.Fleet.Hypervisor(ctx, m.Hypervisor.ValueString())
	var p *hypervisor.Pool
	var kept error
	if err == nil {
		p, err = c.Pool(ctx, m.ID.ValueString())
	}
	if err == nil {
		kept, err = remove(ctx, c, p)
	}
	if err != nil && !hypervisor.IsNotFound(err) {
		resp.Diagnostics.Append(crud.Failure("delete", what(&m), err))
		return
	}
	if kept != nil {
		resp.Diagnostics.AddWarning("Directory of "+what(&m)+" stays", fmt.Sprintf("The pool is gone, but its directory %s could not be removed, most likely because there are files in it that Terraform does not know: %s", p.Path(), kept))
	}
}

// ImportState takes the pool's name, its UUID, or either of them after "hypervisor/".
func (r *storagePool) ImportState(ctx context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	var hypervisorName, name types.String
	if req.ID == "" && req.Identity != nil {
		resp.Diagnostics.Append(req.Identity.GetAttribute(ctx, path.Root("hypervisor"), &hypervisorName)...)
		resp.Diagnostics.Append(req.Identity.GetAttribute(ctx, path.Root("name"), &name)...)
	} else if first, second, split := strings.Cut(req.ID, "/"); split {
		hypervisorName, name = types.StringValue(first), types.StringValue(second)
	} else {
		name = types.StringValue(req.ID)
	}
	if resp.Diagnostics.HasError() {
		return
	}
	c, err := r.Fleet.Hypervisor(ctx, hypervisorName.ValueString())
	var p *hypervisor.Pool
	if err == nil {
		p, err = c.Pool(ctx, name.ValueString())
	}
	if err == nil && p.Type() != "dir" {
		err = fmt.Errorf("it is of type %q, and only \"dir\" can be managed", p.Type())
	}
	if err != nil {
		resp.Diagnostics.Append(crud.Failure("import", fmt.Sprintf("storage pool %q", req.ID), err))
		return
	}
	m := model{Hypervisor: hypervisorName}
	m.fill(p)
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}
