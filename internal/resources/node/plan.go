package node

import (
	"context"
	"errors"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/fleet"
)

// ModifyPlan fills in what the configuration leaves open and finds what is wrong with it.
func (n *node) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	if req.Plan.Raw.IsNull() {
		return
	}
	var planned, config, prior version
	resp.Diagnostics.Append(req.Plan.Get(ctx, &planned.model)...)
	resp.Diagnostics.Append(req.Config.Get(ctx, &config.model)...)
	create := req.State.Raw.IsNull()
	if !create {
		resp.Diagnostics.Append(req.State.Get(ctx, &prior.model)...)
	}
	if resp.Diagnostics.HasError() {
		return
	}
	for _, v := range []*version{&planned, &config, &prior} {
		p, diags := v.split(ctx)
		v.parts = p
		resp.Diagnostics.Append(diags...)
	}
	n.facts.hold(&prior)
	complete(&planned, &config, &prior)
	keepIgnition(&planned, &prior)
	keepMetaData(&planned, &prior)
	n.keepReferences(ctx, &planned, &prior)
	replace := !create && replaces(&planned, &prior, resp)
	if create || replace {
		n.planNew(ctx, &planned, &config)
	}
	planComputed(&planned, &prior, create || replace)
	resp.Diagnostics.Append(planned.join(ctx, planned.parts)...)
	if resp.Diagnostics.HasError() {
		return
	}
	resp.Diagnostics.Append(resp.Plan.Set(ctx, &planned.model)...)
	resp.Diagnostics.Append(crud.Problems(ctx, resp.Plan, planned.problems())...)
	if !create && !replace {
		resp.Diagnostics.Append(crud.Problems(ctx, resp.Plan, planned.changeProblems(&prior))...)
	}
	if resp.Diagnostics.HasError() || !create && !replace && resp.Plan.Raw.Equal(req.State.Raw) {
		return
	}
	n.ask(ctx, &planned, &prior, create || replace, resp)
}

// replaces says whether the change makes another node.
func replaces(planned, prior *version, resp *resource.ModifyPlanResponse) bool {
	if planned.Root != nil && prior.Root != nil {
		if known(prior.Root.SizeGiB) && prior.Root.SizeGiB.ValueInt64() == lost {
			resp.RequiresReplace = append(resp.RequiresReplace, path.Root("root_disk").AtName("size_gib"))
		}
		if known(prior.Root.Pool) && !planned.Root.Pool.Equal(prior.Root.Pool) {
			resp.RequiresReplace = append(resp.RequiresReplace, path.Root("root_disk").AtName("pool"))
		}
		if !planned.Root.Image.Equal(prior.Root.Image) {
			resp.RequiresReplace = append(resp.RequiresReplace, path.Root("root_disk").AtName("image"))
		}
	}
	if !planned.Name.Equal(prior.Name) || !planned.Hypervisor.Equal(prior.Hypervisor) {
		return true
	}
	return len(resp.RequiresReplace) > 0
}

// planNew fills in what an image says about a new node's root disk, where the image is there already.
func (n *node) planNew(ctx context.Context, planned, config *version) {
	r := planned.Root
	if r == nil || config.Root == nil || n.Fleet == nil {
		return
	}
	defer func() { // the other disks go where the root disk does
		for key, d := range planned.parts.Disks {
			if d.Pool.IsUnknown() && config.parts.Disks[key].Pool.IsNull() {
				d.Pool = r.Pool
				planned.parts.Disks[key] = d
			}
		}
	}()
	c, err := n.client(ctx, &planned.model)
	if err != nil || !known(r.Image) {
		if r.Image.IsNull() && r.Pool.IsUnknown() && config.Root.Pool.IsNull() {
			r.Pool = types.StringValue("default")
		}
		return
	}
	image, err := n.facts.image(ctx, c, r.Image.ValueString())
	if err != nil {
		return // the checks say so
	}
	if r.Pool.IsUnknown() && config.Root.Pool.IsNull() {
		r.Pool = types.StringValue(image.Pool)
	}
	if r.SizeGiB.IsUnknown() && config.Root.SizeGiB.IsNull() {
		r.SizeGiB = types.Int64Value(ceilGiB(image.Capacity()))
	}
}

// planComputed says what will be known only afterwards, and what is known already.
func planComputed(planned, prior *version, fresh bool) {
	if fresh {
		planned.ID = types.StringUnknown()
	} else {
		planned.ID = prior.ID
	}
	switch {
	case fresh && known(planned.Running) && planned.Running.ValueBool():
		planned.State = types.StringValue("running")
	case fresh, !planned.Running.Equal(prior.Running), prior.State.IsNull():
		planned.State = types.StringUnknown()
	default:
		planned.State = prior.State
	}
	planned.Addresses = planAddresses(planned, prior, fresh)
}

// planAddresses is known where every interface's address follows from the configuration, or where nothing
// changes about the interfaces.
func planAddresses(v, prior *version, fresh bool) types.Map {
	if v.NetworkInterfaces.IsUnknown() {
		return types.MapUnknown(types.StringType)
	}
	addresses := map[string]attr.Value{}
	for _, i := range v.parts.Interfaces {
		address := planned(&i)
		if address == "" || i.IP.IsUnknown() || i.Addresses.IsUnknown() || i.IPv6.IsUnknown() || !known(i.Name) || slices.ContainsFunc(i.Addresses.Elements(), attr.Value.IsUnknown) {
			if !fresh && slices.EqualFunc(v.parts.Interfaces, prior.parts.Interfaces, sameInside) {
				return prior.Addresses
			}
			return types.MapUnknown(types.StringType)
		}
		addresses[i.Name.ValueString()] = types.StringValue(address)
	}
	return types.MapValueMust(types.StringType, addresses)
}

// sameInside says that two interfaces get their addresses in the same way.
func sameInside(a, b interfaceModel) bool {
	for _, pair := range [][2]attr.Value{
		{a.Network, b.Network}, {a.Bridge, b.Bridge}, {a.Name, b.Name}, {a.MAC, b.MAC}, {a.IP, b.IP}, {a.IPv6, b.IPv6}, {a.Addresses, b.Addresses},
	} {
		if !pair[0].Equal(pair[1]) {
			return false
		}
	}
	return true
}

// ask looks at the hypervisors, where they may be asked yet.
func (n *node) ask(ctx context.Context, planned, prior *version, fresh bool, resp *resource.ModifyPlanResponse) {
	if n.Fleet == nil || planned.Hypervisor.IsUnknown() || planned.Name.IsUnknown() {
		return
	}
	n.claim(planned, resp)
	c, err := n.client(ctx, &planned.model)
	if errors.Is(err, fleet.ErrUnknown) {
		return
	}
	if err != nil {
		resp.Diagnostics.AddAttributeError(path.Root("hypervisor"), "Unknown hypervisor", err.Error())
		return
	}
	k := &checks{n: n, c: c, v: planned, prior: prior, fresh: fresh}
	if err := k.run(ctx); err != nil {
		resp.Diagnostics.Append(crud.Failure("plan", what(&planned.model), err))
		return
	}
	resp.Diagnostics.Append(crud.Problems(ctx, resp.Plan, k.problems)...)
	if fresh {
		return
	}
	if err := n.planRestart(ctx, c, planned, prior, resp); err != nil {
		resp.Diagnostics.Append(crud.Failure("plan", what(&planned.model), err))
	}
}
