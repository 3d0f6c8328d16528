package storagepool

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-log/tflog"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/fleet"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/planregistry"
)

// Default is the name of the pool that is meant where none is named: libvirt's own convention.
const Default = "default"

// Place says where a volume is, as its import id does.
type Place struct {
	// Hypervisor is "" for the provider's own.
	Hypervisor, Pool, Name string
	// Path is set instead of Pool and Name where the id is a path on the provider's own hypervisor.
	Path string
}

// ParsePlace reads an import id: "pool/name", "hypervisor/pool/name", or a volume's path.
func ParsePlace(id string) (Place, error) {
	if strings.HasPrefix(id, "/") {
		return Place{Path: id}, nil
	}
	parts := strings.Split(id, "/")
	for _, p := range parts {
		if p == "" {
			return Place{}, errors.New("a part of it is empty: write pool/name, hypervisor/pool/name or the volume's path")
		}
	}
	switch len(parts) {
	case 2:
		return Place{Pool: parts[0], Name: parts[1]}, nil
	case 3:
		return Place{Hypervisor: parts[0], Pool: parts[1], Name: parts[2]}, nil
	}
	return Place{}, errors.New("write pool/name, hypervisor/pool/name or the volume's path")
}

// Find completes a place that is a path, by asking the hypervisor.
func (p Place) Find(ctx context.Context, f *fleet.Fleet) (Place, error) {
	if p.Path == "" {
		return p, nil
	}
	c, err := f.Hypervisor(ctx, p.Hypervisor)
	if err != nil {
		return p, err
	}
	v, err := c.VolumeByPath(ctx, p.Path)
	if err != nil {
		return p, err
	}
	return Place{Hypervisor: p.Hypervisor, Pool: v.Pool, Name: v.Name()}, nil
}

// Client finds a resource's hypervisor while planning. It is nil, without an error, where nothing may be
// asked yet.
func Client(ctx context.Context, f *fleet.Fleet, name types.String) (*hypervisor.Client, diag.Diagnostics) {
	var diags diag.Diagnostics
	if f == nil || name.IsUnknown() {
		return nil, diags
	}
	c, err := f.Hypervisor(ctx, name.ValueString())
	if errors.Is(err, fleet.ErrUnknown) {
		return nil, diags
	}
	if err != nil {
		diags.AddAttributeError(path.Root("hypervisor"), "Unknown hypervisor", err.Error()+". Name one of these, or add it to the provider's `hypervisors`.")
		return nil, diags
	}
	return c, diags
}

// Planned looks up, while planning, the pool that an attribute names. The pool is nil where it is not known
// yet, which is so too for one that another resource of the plan makes and for a hypervisor that cannot be
// reached now. One that nobody has or makes is an error at the attribute, as is one that holds no files.
func Planned(ctx context.Context, f *fleet.Fleet, at path.Path, hypervisorName, pool types.String) (*hypervisor.Pool, diag.Diagnostics) {
	c, diags := Client(ctx, f, hypervisorName)
	if c == nil || pool.IsUnknown() || pool.IsNull() {
		return nil, diags
	}
	p, err := c.Pool(ctx, pool.ValueString())
	switch {
	case err == nil && p.Files():
		return p, diags
	case err == nil:
		diags.AddAttributeError(at, "Unsuitable storage pool", fmt.Sprintf("The pool %q is of type %q. Images and volumes need a pool of files, such as \"dir\".", p.Name(), p.Type()))
	case hypervisor.IsNotFound(err):
		if f.Claims.Holder(planregistry.PoolClaim(hypervisorName.ValueString(), pool.ValueString())) == "" {
			diags.AddAttributeError(at, "Unknown storage pool", fmt.Sprintf(
				"The hypervisor %s has no storage pool %q, and no virtcluster_storage_pool planned so far makes it. Name one that exists, or make it and refer to it: virtcluster_storage_pool.NAME.name.%s",
				c.URI(), pool.ValueString(), others(ctx, c)))
		}
	default:
		tflog.Warn(ctx, "storage pool not checked while planning", map[string]any{"pool": pool.ValueString(), "reason": err.Error()})
	}
	return nil, diags
}

// others names the pools that there are.
func others(ctx context.Context, c *hypervisor.Client) string {
	pools, err := c.Pools(ctx)
	if err != nil || len(pools) == 0 {
		return ""
	}
	names := make([]string, len(pools))
	for i, p := range pools {
		names[i] = fmt.Sprintf("%q", p.Name())
	}
	return " It has " + strings.Join(names, ", ") + "."
}

// Claim lays a resource's claim to a volume's name, and reports another resource that holds it.
func Claim(f *fleet.Fleet, owner string, hypervisorName, pool, name types.String) diag.Diagnostics {
	var diags diag.Diagnostics
	if f == nil || hypervisorName.IsUnknown() || pool.IsUnknown() || name.IsUnknown() {
		return diags
	}
	owner = planregistry.On(hypervisorName.ValueString(), fmt.Sprintf("%s in storage pool %q", owner, pool.ValueString()))
	for _, conflict := range f.Claims.Replace(owner, planregistry.VolumeClaim(hypervisorName.ValueString(), pool.ValueString(), name.ValueString())) {
		diags.AddAttributeError(path.Root("name"), "Volume name taken", fmt.Sprintf("The %s is what %s makes too. Give one of them another name.", conflict.Claim, conflict.Holder))
	}
	return diags
}

// Look reads, for a refresh, the volume that a resource is. It is nil where there is nothing to fill in: the response has
// what that is about, be it that the volume is gone.
func Look(ctx context.Context, f *fleet.Fleet, what string, hypervisorName, pool, name types.String, resp *resource.ReadResponse) (*hypervisor.Client, *hypervisor.Volume) {
	c, err := f.Hypervisor(ctx, hypervisorName.ValueString())
	var v *hypervisor.Volume
	if err == nil {
		v, err = c.Volume(ctx, pool.ValueString(), name.ValueString())
	}
	switch {
	case err == nil:
		return c, v
	case errors.Is(err, fleet.ErrUnknown): // nothing may be asked yet, so what is known stays
	case errors.Is(err, hypervisor.ErrPoolStopped):
		resp.Diagnostics.AddWarning("Cannot look at "+what, "Its storage pool is stopped, so what is known of it stays. Start the pool to have it checked.")
	case hypervisor.IsNotFound(err):
		resp.State.RemoveResource(ctx)
	default:
		resp.Diagnostics.Append(crud.Failure("read", what, err))
	}
	return nil, nil
}

// ImportVolume writes into state where the volume is that an import names.
func ImportVolume(ctx context.Context, f *fleet.Fleet, req resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	place, diags := importPlace(ctx, f, req)
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

// importPlace reads where the volume is that an import request names, by its id or its identity.
func importPlace(ctx context.Context, f *fleet.Fleet, req resource.ImportStateRequest) (Place, diag.Diagnostics) {
	var diags diag.Diagnostics
	if req.ID == "" && req.Identity != nil {
		var hypervisorName, pool, name types.String
		for attribute, value := range map[string]*types.String{"hypervisor": &hypervisorName, "pool": &pool, "name": &name} {
			diags.Append(req.Identity.GetAttribute(ctx, path.Root(attribute), value)...)
		}
		return Place{Hypervisor: hypervisorName.ValueString(), Pool: pool.ValueString(), Name: name.ValueString()}, diags
	}
	place, err := ParsePlace(req.ID)
	if err == nil {
		place, err = place.Find(ctx, f)
	}
	if err != nil {
		diags.AddError(fmt.Sprintf("Cannot import volume %q", req.ID), err.Error())
	}
	return place, diags
}

// Creating notes that a resource makes a volume now, and fails where another resource of the same apply did.
// Both look for what a killed apply left behind, and must not take each other's volume for that.
func Creating(f *fleet.Fleet, hypervisorName, pool, name types.String) error {
	claim := planregistry.VolumeClaim(hypervisorName.ValueString(), pool.ValueString(), name.ValueString())
	claim.Kind = "creation of volume"
	if conflicts := f.Claims.Replace("creation "+rand.Text(), claim); len(conflicts) > 0 {
		return fmt.Errorf("another resource makes the volume %q in storage pool %q too: give one of them another name", name.ValueString(), pool.ValueString())
	}
	return nil
}
