package node

import (
	"context"
	"errors"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/fleet"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
)

// Read makes state what the hypervisor says. Only its own word that there is no such domain drops the node.
func (n *node) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	var v version
	resp.Diagnostics.Append(req.State.Get(ctx, &v.model)...)
	// An interrupted destroy leaves no identity, nor does a CLI without them send one, and the framework wants one
	// even of what turns out to be gone.
	resp.Diagnostics.Append(n.Identify(ctx, req.State, resp.Identity)...)
	if resp.Diagnostics.HasError() || n.Fleet == nil {
		return
	}
	p, diags := v.split(ctx)
	v.parts = p
	resp.Diagnostics.Append(diags...)
	limit := crud.Timeout(ctx, v.Timeouts, "read", defaultTimeout, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	c, err := n.client(ctx, &v.model)
	if errors.Is(err, fleet.ErrUnknown) {
		return // nothing may be asked yet, so what is known stays
	}
	var d *hypervisor.Domain
	if err == nil {
		d, err = n.find(ctx, c, &v)
	}
	if hypervisor.IsNotFound(err) {
		resp.State.RemoveResource(ctx)
		return
	}
	n.facts.hold(&v)
	memory, vcpus := v.MemoryMiB, v.VCPUs
	if err == nil {
		err = n.fill(ctx, c, &v, d)
	}
	if err != nil {
		resp.Diagnostics.Append(crud.Failure("read", what(&v.model), err))
		return
	}
	v.fillLive(d, memory, vcpus)
	resp.Diagnostics.Append(v.join(ctx, v.parts)...)
	resp.Diagnostics.Append(resp.State.Set(ctx, &v.model)...)
	resp.Diagnostics.Append(n.Identify(ctx, resp.State, resp.Identity)...)
}

// find reads the node's domain by its id, or by its name where it was imported by its identity.
func (n *node) find(ctx context.Context, c *hypervisor.Client, v *version) (*hypervisor.Domain, error) {
	if id := v.ID.ValueString(); id != "" {
		return c.Domain(ctx, id)
	}
	return c.DomainByName(ctx, v.Name.ValueString())
}

// readBack makes state what the hypervisor says after a change. Where the plan promised an answer that time
// alone can alter, such as that the machine runs, the promise is kept and the next refresh looks again.
func (n *node) readBack(ctx context.Context, c *hypervisor.Client, v *version, planned *model, state *tfsdk.State) diag.Diagnostics {
	var diags diag.Diagnostics
	d, err := c.Domain(ctx, v.ID.ValueString())
	if err == nil {
		err = n.fill(ctx, c, v, d)
	}
	if err != nil {
		diags.Append(crud.Failure("read back", what(&v.model), err))
		return diags
	}
	diags.Append(v.join(ctx, v.parts)...)
	if known(planned.Running) {
		v.Running = planned.Running
	}
	if known(planned.State) {
		v.State = planned.State
	}
	if known(planned.Addresses) {
		v.Addresses = planned.Addresses
	}
	diags.Append(state.Set(ctx, &v.model)...)
	return diags
}
