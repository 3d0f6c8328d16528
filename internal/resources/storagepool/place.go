package storagepool

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-log/tflog"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/fleet"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/planregistry"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/storage"
)

// OwnershipDescription says in the documentation of images and volumes whose they are.
const OwnershipDescription = "Whose a volume is stands in the name of an empty file beside it, `NAME.virtcluster-OWNER-WORKSPACE`. " +
	"One that is another state's, or a person's, is refused until it is imported, and one that a domain or an overlay in any started pool still uses is not deleted."

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

// CheckPool looks up, while planning, the pool that an attribute names. The pool is nil where it is not known
// yet, which is so too for one that another resource of the plan makes and for a hypervisor that cannot be
// reached now. One that nobody has or makes is an error at the attribute, as is one that holds no files.
func CheckPool(ctx context.Context, f *fleet.Fleet, at path.Path, hypervisorName, pool types.String) (*hypervisor.Pool, diag.Diagnostics) {
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

// ClaimVolume lays a resource's claim to a volume's name, and reports another resource that holds it.
func ClaimVolume(f *fleet.Fleet, owner string, hypervisorName, pool, name types.String) diag.Diagnostics {
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

// SplitVolume writes into a model where the volume is that an import names: "pool/name", "hypervisor/pool/name", or the
// volume's path on the provider's own hypervisor, which the hypervisor has to complete.
func SplitVolume(id string, idAttribute, hypervisorName, pool, name *types.String) error {
	place, err := storage.ParsePlace(id)
	if err != nil {
		return err
	}
	*idAttribute = convert.Text(place.Path)
	*hypervisorName, *pool, *name = convert.Text(place.Hypervisor), convert.Text(place.Pool), convert.Text(place.Name)
	return nil
}

// VolumePlace says where the volume is that a model means. During an import by its path, that is all that is known of it.
func VolumePlace(id, hypervisorName, pool, name types.String) storage.Place {
	if name.ValueString() == "" {
		return storage.Place{Hypervisor: hypervisorName.ValueString(), Path: id.ValueString()}
	}
	return storage.Place{Hypervisor: hypervisorName.ValueString(), Pool: pool.ValueString(), Name: name.ValueString()}
}
