package node

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/fleet"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/machine"
)

// planner plans one node.
type planner struct {
	cache *machine.HypervisorCache
	at    crud.StoreContext
	req   resource.ModifyPlanRequest
	resp  *resource.ModifyPlanResponse
	// checker asks the node's hypervisor; its client is nil where that may not be asked, as noClient says.
	checker  *machine.Checker
	noClient error
	// moves says that the node goes to another hypervisor as it is.
	moves bool
}

// planNode fills in what the configuration leaves open and finds what is wrong with it.
func (p *planner) planNode(ctx context.Context, proposed *model) {
	var written, stored model
	p.resp.Diagnostics.Append(p.req.Config.Get(ctx, &written)...)
	create := p.req.State.Raw.IsNull()
	if !create {
		p.resp.Diagnostics.Append(p.req.State.Get(ctx, &stored)...)
	}
	decode := func(m *model) *version {
		v, diags := m.decodeNested(ctx)
		p.resp.Diagnostics.Append(diags...)
		return v
	}
	planned, config, prior := decode(proposed), decode(&written), decode(&stored)
	if p.resp.Diagnostics.HasError() {
		return
	}
	was := &machine.Spec{}
	if !create {
		was = prior.toSpec()
		p.cache.RememberNode(was)
	}
	p.checker = &machine.Checker{Cache: p.cache, Plan: p.at.Ledger, Owner: p.at.Claim.Mark(), Run: p.at.Claim.Run()}
	if p.at.Fleet != nil {
		p.checker.Northbounds = p.at.Fleet.Northbound
		p.checker.Client, p.noClient = p.at.Fleet.Hypervisor(ctx, planned.Hypervisor.ValueString())
	}
	completeVersion(planned, config, prior)
	keepMetaData(planned, prior, was)
	p.keepReferences(ctx, planned, prior)
	p.moves = !create && p.movesNode(planned, prior, was)
	replace := !create && p.makesAnotherNode(ctx, planned, prior)
	fresh := create || replace
	if fresh {
		p.planNew(ctx, planned, config)
	} else if was.State == machine.Undefined {
		p.resp.Diagnostics.AddWarning(fmt.Sprintf("The domain of node %q is undefined", was.Name),
			"Somebody undefined it, and its disks are there. They are the node's own, and hold what they held: an apply defines the domain again with them, under the same UUID. "+
				"To have the disks made anew too, plan with -replace.")
	}
	p.planFormats(ctx, planned)
	want := planned.toSpec()
	if p.moves {
		p.planMove(ctx, want, was)
		was = was.MovedTo(want)
	} else if was.State == machine.Moving {
		p.resp.Diagnostics.AddWarning(fmt.Sprintf("The move of node %q has not come to its end", was.Name),
			"A run ended while the node was on its way to another hypervisor. An apply removes what that left, on both.")
	}
	if !fresh && want.Power == machine.External { // whether it runs is as it is
		was.Running = was.Runs()
		want.Running = was.Running
	}
	planComputed(planned, prior, want, was, fresh)
	encoded, diags := planned.encodeNested(ctx)
	p.resp.Diagnostics.Append(diags...)
	if p.resp.Diagnostics.HasError() {
		return
	}
	p.resp.Diagnostics.Append(p.resp.Plan.Set(ctx, encoded)...)
	p.resp.Diagnostics.Append(crud.Problems(ctx, p.resp.Plan, want.Validate())...)
	if !fresh {
		p.resp.Diagnostics.Append(crud.Problems(ctx, p.resp.Plan, want.ValidateChange(was))...)
	}
	if p.resp.Diagnostics.HasError() || p.at.Fleet == nil || want.Unknown.Has("hypervisor") || want.Unknown.Has("name") {
		return
	}
	p.at.Announce() // of a node that stays as it is too: another one may want its address
	p.checkHypervisors(ctx, want, was, fresh, !fresh && p.resp.Plan.Raw.Equal(p.req.State.Raw))
}

// keepMetaData keeps the prior metadata where they tell the guest the same: an import finds them completed.
func keepMetaData(planned, prior *version, was *machine.Spec) {
	if is, old := planned.CloudInit, prior.CloudInit; is != nil && old != nil {
		keepPrior(&is.MetaData, old.MetaData, func(a, b string) bool { return machine.SameMetaData(a, b, was) })
	}
}

// keepPrior plans the prior text where both mean the same.
func keepPrior(into *types.String, prior types.String, same func(is, was string) bool) {
	if convert.Known(*into) && convert.Known(prior) && same(into.ValueString(), prior.ValueString()) {
		*into = prior
	}
}

// makesAnotherNode says whether the change makes another node.
func (p *planner) makesAnotherNode(ctx context.Context, planned, prior *version) bool {
	resp := p.resp
	if planned.Root != nil && prior.Root != nil && planned.Root.isAttached() {
		if !p.hasRootVolume(ctx, planned, prior) {
			resp.RequiresReplace = append(resp.RequiresReplace, path.Root("root_disk").AtName("volume"))
		}
	} else if planned.Root != nil && prior.Root != nil && !p.moves {
		if prior.Root.SizeGiB.ValueInt64() == 0 { // its volume is missing
			resp.RequiresReplace = append(resp.RequiresReplace, path.Root("root_disk").AtName("size_gib"))
		}
		if convert.Known(prior.Root.Pool) && !planned.Root.Pool.Equal(prior.Root.Pool) {
			resp.RequiresReplace = append(resp.RequiresReplace, path.Root("root_disk").AtName("pool"))
		}
		if prior.Root.isAttached() {
			resp.RequiresReplace = append(resp.RequiresReplace, path.Root("root_disk").AtName("volume"))
		}
		if !planned.Root.Image.Equal(prior.Root.Image) {
			resp.RequiresReplace = append(resp.RequiresReplace, path.Root("root_disk").AtName("image"))
		}
	}
	if !planned.Hypervisor.Equal(prior.Hypervisor) && !p.moves {
		resp.RequiresReplace = append(resp.RequiresReplace, path.Root("hypervisor"))
	}
	if !planned.Name.Equal(prior.Name) {
		return true
	}
	return len(resp.RequiresReplace) > 0
}

// planNew fills in what an image says about a new node's root disk, where the image is there already.
func (p *planner) planNew(ctx context.Context, planned, config *version) {
	r := planned.Root
	if r == nil || config.Root == nil || p.at.Fleet == nil {
		return
	}
	defer func() { // the other disks go where the root disk does
		for key, d := range planned.Disks {
			if given := config.Disks[key]; d.Pool.IsUnknown() && given.Pool.IsNull() && !given.Volume.IsUnknown() {
				d.Pool = r.Pool
				planned.Disks[key] = d
			}
		}
	}()
	if r.isAttached() {
		p.planAttachedRoot(ctx, r)
		return
	}
	if p.checker.Client == nil || !convert.Known(r.Image) {
		if r.Image.IsNull() && r.Pool.IsUnknown() && config.Root.Pool.IsNull() {
			r.Pool = types.StringValue("default")
		}
		return
	}
	image, err := p.cache.Volume(ctx, p.checker.Client, r.Image.ValueString())
	if err != nil {
		return // the checks say so
	}
	if r.Pool.IsUnknown() && config.Root.Pool.IsNull() {
		r.Pool = types.StringValue(image.Pool)
	}
	if r.SizeGiB.IsUnknown() && config.Root.SizeGiB.IsNull() {
		r.SizeGiB = types.Int64Value(image.CapacityGiB())
	}
}

// planComputed plans the attributes that only the hypervisor sets: as they are where nothing changes them, as they will be where
// that is certain, and else unknown.
func planComputed(planned, prior *version, want, was *machine.Spec, fresh bool) {
	if fresh {
		planned.ID = types.StringUnknown()
	} else {
		planned.ID = prior.ID
	}
	fresh = fresh || prior.State.ValueString() == machine.Undefined // its domain is made anew
	switch {
	case fresh && convert.Known(planned.Running) && planned.Running.ValueBool():
		planned.State = types.StringValue("running")
	case fresh, !planned.Running.Equal(prior.Running), prior.State.IsNull(), slices.Contains([]string{machine.Moving, machine.Outdated}, prior.State.ValueString()):
		planned.State = types.StringUnknown()
	default:
		planned.State = prior.State
	}
	planned.Addresses = planAddresses(planned, prior, want, was, fresh)
}

// planAddresses returns the planned addresses: the prior ones where nothing about the interfaces changes, else those of the
// configuration where it has one for every interface, and else unknown. They are unknown too where a running guest is to change
// its address: it may keep the one that it has for a while.
func planAddresses(v, prior *version, want, was *machine.Spec, fresh bool) types.Map {
	unknown := types.MapUnknown(types.StringType)
	if v.unknown["network_interfaces"] {
		return unknown
	}
	if !fresh && convert.Known(prior.Addresses) && slices.EqualFunc(v.Interfaces, prior.Interfaces, sameInside) {
		return prior.Addresses
	}
	addresses := map[string]string{}
	for n := range want.Interfaces {
		i := &want.Interfaces[n]
		address := i.ConfiguredAddress()
		later := slices.ContainsFunc([]string{"ip", "addresses", "ipv6", "name", "mac"}, func(attribute string) bool {
			return want.Unknown.Has("network_interfaces", n, attribute)
		})
		if !address.IsValid() || later && !i.IP.IsValid() || i.Name == "" || !fresh && movesReservation(i, was) {
			return unknown
		}
		addresses[i.Name] = address.String()
	}
	return convert.Map(addresses)
}

// movesReservation says whether an interface of a node that runs gets another address by DHCP.
func movesReservation(i *machine.InterfaceSpec, was *machine.Spec) bool {
	return was.Runs() && slices.ContainsFunc(was.Interfaces, func(p machine.InterfaceSpec) bool {
		return p.MAC == i.MAC && i.IP.IsValid() && (p.IP != i.IP || p.Network != i.Network || p.OVNNetwork != i.OVNNetwork)
	})
}

// sameInside says that two interfaces get their addresses in the same way.
func sameInside(a, b interfaceModel) bool {
	for _, pair := range [][2]attr.Value{
		{a.Network, b.Network}, {a.Bridge, b.Bridge}, {a.OVNNetwork, b.OVNNetwork}, {a.Direct, b.Direct}, {a.Name, b.Name}, {a.MAC, b.MAC}, {a.IP, b.IP}, {a.IPv6, b.IPv6}, {a.Addresses, b.Addresses},
	} {
		if !pair[0].Equal(pair[1]) {
			return false
		}
	}
	return true
}

// checkHypervisors adds what is wrong with the node on its hypervisor, where that may be asked yet. Of a node that stays as it is,
// only its networks are checked, which may be about to leave it behind.
func (p *planner) checkHypervisors(ctx context.Context, want, was *machine.Spec, fresh, stays bool) {
	k := p.checker
	k.Want, k.Was, k.Fresh = want, was, fresh
	switch {
	case errors.Is(p.noClient, fleet.ErrUnknown):
		if !stays {
			p.resp.Diagnostics.Append(crud.Problems(ctx, p.resp.Plan, k.CheckPlan())...)
		}
		return
	case p.noClient != nil:
		p.resp.Diagnostics.AddAttributeError(path.Root("hypervisor"), "Unknown hypervisor", p.noClient.Error())
		return
	}
	k.Hypervisors = p.at.Fleet.Known(ctx)
	check := k.Check
	if stays {
		check = k.CheckLeft
	}
	problems, err := check(ctx)
	if err != nil {
		p.resp.Diagnostics.Append(crud.NewFailure("plan", fmt.Sprintf("node %q", want.Name), err))
		return
	}
	p.resp.Diagnostics.Append(crud.Problems(ctx, p.resp.Plan, problems)...)
	if !stays {
		p.planTurn(ctx, want, was, fresh)
	}
	if fresh || stays || p.moves && k.From == nil { // the old hypervisor cannot be asked yet
		return
	}
	at := p.checker.Client
	if p.checker.From != nil {
		at = p.checker.From
	}
	changes, err := machine.PlanChanges(ctx, at, was, want)
	if err != nil {
		p.resp.Diagnostics.Append(crud.NewFailure("plan", fmt.Sprintf("node %q", want.Name), err))
	}
	p.planRestart(want, was, changes)
}

// planRestart says which changes of a node that runs and is to go on need a restart, and refuses them where the
// configuration does not allow it.
func (p *planner) planRestart(want, was *machine.Spec, changes []machine.Change) {
	if !was.Runs() || !want.Running {
		return
	}
	said := map[string]bool{}
	for _, c := range changes {
		at := crud.AttributePath(c.Path)
		if c.Maybe && want.AllowRestart {
			p.resp.Diagnostics.AddAttributeWarning(at, "The node may be restarted", fmt.Sprintf("where the guest of node %q does not let go of its vCPUs, it is shut down and started again", want.Name))
		}
		// All that comes after the last free port fails alike.
		if c.Restart == nil || said[c.Restart.Error()] && !c.IsFixed() {
			continue
		}
		said[c.Restart.Error()] = true
		if want.AllowRestart {
			p.resp.Diagnostics.AddAttributeWarning(at, "The node will be restarted", crud.DetailAt(at, fmt.Sprintf("node %q is shut down and started again for this change, as %v", want.Name, c.Restart)))
			continue
		}
		p.resp.Diagnostics.AddAttributeError(at, "This change needs a restart",
			crud.DetailAt(at, fmt.Sprintf("node %q runs, and %v: set allow_restart = true, which shuts the guest down and starts it again in the same apply, or set running = false first", want.Name, c.Restart)))
	}
}
