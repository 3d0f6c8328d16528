// Package poolattr has what resources that live in storage pools share: the pool that they name while planning, and the place of a volume.
package poolattr

import (
	"context"
	"errors"

	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/fleet"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/peer"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/storage"
)

// OwnershipDescription says in the documentation of images and volumes whose they are.
const OwnershipDescription = "Whose a volume is stands in the name of an empty file beside it, `NAME.virtcluster-OWNER-WORKSPACE`. " +
	"One that is another state's, or a person's, is refused until it is imported, and one that a domain or an overlay in any started pool still uses is not deleted."

// Check asks a resource's hypervisor while planning, and returns what check finds. Nobody is asked where that may not be yet.
func Check(ctx context.Context, provided crud.ProviderData, on types.String, check func(storage.Checker) []service.Problem) diag.Diagnostics {
	if provided.Fleet == nil || on.IsUnknown() {
		return nil
	}
	c, err := provided.Fleet.Hypervisor(ctx, on.ValueString())
	if errors.Is(err, fleet.ErrUnknown) {
		return nil
	}
	if err != nil {
		return diag.Diagnostics{diag.NewAttributeErrorDiagnostic(path.Root("hypervisor"), "Unknown hypervisor",
			err.Error()+". Name one of these, or add it to the provider's `hypervisors`.")}
	}
	return crud.Diagnostics(check(storage.Checker{Client: c, Hypervisor: on.ValueString(), Plan: provided.Ledger}))
}

// CheckPool looks up, while planning, the pool that a new volume is to be in. there is false where it is not known yet, which is so
// too for one that another resource of the plan makes and for a hypervisor that cannot be reached now.
func CheckPool(ctx context.Context, provided crud.ProviderData, on, pool types.String) (there bool, diags diag.Diagnostics) {
	if !convert.Known(pool) {
		return false, nil
	}
	diags = Check(ctx, provided, on, func(k storage.Checker) (problems []service.Problem) {
		problems, there = k.CheckPool(ctx, pool.ValueString())
		return problems
	})
	return there, diags
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

// MoveVolume writes into a model where the volume is that a `moved` block hands over.
func MoveVolume(from peer.Thing, idAttribute, pool, name *types.String) {
	*idAttribute, *pool, *name = types.StringValue(from.Path), types.StringValue(from.Pool), types.StringValue(from.Name)
}

// VolumePlace says where the volume is that a model means. During an import by its path, that is all that is known of it.
func VolumePlace(id, hypervisorName, pool, name types.String) storage.Place {
	if name.ValueString() == "" {
		return storage.Place{Hypervisor: hypervisorName.ValueString(), Path: id.ValueString()}
	}
	return storage.Place{Hypervisor: hypervisorName.ValueString(), Pool: pool.ValueString(), Name: name.ValueString()}
}

// ID is the attribute of a volume's id.
func ID() schema.StringAttribute {
	return values.KeptText("Path of the volume on the hypervisor.")
}

// Name is the attribute of a volume's name; anew is what a change makes, as the description calls it.
func Name(example, anew string) schema.StringAttribute {
	return schema.StringAttribute{
		Required: true, PlanModifiers: []planmodifier.String{stringplanmodifier.RequiresReplace()},
		MarkdownDescription: "Name of the volume in the pool, such as `" + example + "`. A change makes a new " + anew + ".",
		Validators:          []validator.String{values.Name, stringvalidator.RegexMatches(storage.NameForm, "must not be empty and must hold no slash and no control character")},
	}
}

// Pool is the attribute that names a volume's pool; anew is what a change makes, as the description calls it.
func Pool(anew string) schema.StringAttribute {
	return values.Name.Default(storage.Default, "Name of the storage pool. Default: `default`. A change makes a new "+anew+".", stringplanmodifier.RequiresReplace())
}

// ListVolumes makes the List of images, or of all other volumes.
func ListVolumes(images bool) func(context.Context, crud.StoreContext, string) ([]map[string]string, error) {
	return func(ctx context.Context, at crud.StoreContext, hypervisor string) (keys []map[string]string, err error) {
		c, err := at.Fleet.Hypervisor(ctx, hypervisor)
		if err != nil {
			return nil, err
		}
		places, err := storage.ListVolumes(ctx, c, images)
		for _, p := range places {
			keys = append(keys, map[string]string{"pool": p.Pool, "name": p.Name})
		}
		return keys, err
	}
}

// ListUnlistedPools lists the pools of a hypervisor whose volumes and images are not listed. It is the Leftovers of volumes.
func ListUnlistedPools(ctx context.Context, at crud.StoreContext, hypervisor string) ([]service.Unmodelled, error) {
	c, err := at.Fleet.Hypervisor(ctx, hypervisor)
	if err != nil {
		return nil, err
	}
	return storage.ListUnlistedPools(ctx, c)
}
