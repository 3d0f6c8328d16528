package crud

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/fleet"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/parentcommand"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

func (r *typed[M, S]) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	// Who plans a change beside this one, which gives way to it, knows by this that both are of one state.
	r.noteInState(ctx, req.Private, &resp.Diagnostics)
	if req.Plan.Raw.IsNull() {
		found := r.planRemoval(ctx, req.State.Get, r.restoreClaim(ctx, req.Private, &resp.Diagnostics), false)
		found.Append(r.registerRemoval(ctx, req)...)
		if parentcommand.Destroys() {
			found = found.Warnings()
		}
		resp.Diagnostics.Append(found...)
		return
	}
	ctx = fleet.Planning(ctx)
	if parentcommand.Destroys() {
		// What is about to go is planned as if it stayed: nothing that is wrong with it may keep it from going.
		defer func() {
			resp.Diagnostics = slices.DeleteFunc(resp.Diagnostics, func(d diag.Diagnostic) bool { return d.Severity() == diag.SeverityError })
		}()
	}
	var m M
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	spec, diags := r.Spec(ctx, &m)
	resp.Diagnostics.Append(diags...)
	if v, ok := any(spec).(Validator); ok && !diags.HasError() {
		resp.Diagnostics.Append(Problems(ctx, req.Plan, v.Validate())...)
	}
	claim := r.provided.owners().New()
	if !req.State.Raw.IsNull() {
		claim = r.restoreClaim(ctx, req.Private, &resp.Diagnostics)
	} else if replaced := r.loadClaim(ctx, req.Private, &resp.Diagnostics); replaced != nil {
		claim = replaced.Succeed() // what is replaced is still there
	}
	if req.State.Raw.IsNull() && claim.Replaces() {
		r.planRemoval(ctx, req.Plan.Get, claim, true) // nobody tells what there was
	}
	var taken error
	known, strict := false, claim
	claim = claim.Planning()
	if req.State.Raw.IsNull() && r.provided.Fleet != nil && r.namesItself(ctx, req.Plan) && !resp.Diagnostics.HasError() {
		// Before the type's own plan, which may compare with what is there. What the wait was for has another answer after it.
		taken = r.mayCreate(ctx, &m, strict)
		known = !r.awaitInState(ctx, taken, owner.AwaitPlan)
	}
	r.refuseUnknownHypervisor(ctx, req.Plan, &resp.Diagnostics)
	if r.Plan != nil && !resp.Diagnostics.HasError() {
		announce := func() { r.registerUses(ctx, req, resp, claim.Replaces(), true) }
		announce()
		resp.Diagnostics.Append(r.recall(ctx, req.Private, &m)...)
		r.Plan(ctx, StoreContext{ProviderData: r.provided, Claim: claim, Announce: announce}, req, resp, &m)
		known = known && resp.Plan.Raw.Equal(req.Plan.Raw)
	}
	r.registerUses(ctx, req, resp, claim.Replaces(), false)
	if r.Trial != nil && !resp.Diagnostics.HasError() {
		r.Trial(ctx, StoreContext{ProviderData: r.provided, Claim: claim}, req, resp, &m)
	}
	if resp.Diagnostics.HasError() {
		return
	}
	named := r.namesItself(ctx, resp.Plan)
	if named {
		r.planID(ctx, req, resp)
	}
	if r.provided.Fleet == nil {
		return
	}
	if !named {
		return
	}
	if req.State.Raw.IsNull() {
		planned := r.readPlanned(ctx, resp)
		if !known {
			taken = r.mayCreate(ctx, planned, strict)
		}
		resp.Diagnostics.Append(r.describeTaken(planned, taken)...)
	}
	if r.TryAtPlan != nil && r.TryAtPlan(req.State.Raw.IsNull()) && req.Config.Raw.IsFullyKnown() && !resp.Plan.Raw.Equal(req.State.Raw) {
		r.tryPlanned(ctx, resp, claim)
	}
}

// planRemoval tells the type of an object that goes; get reads it.
func (r *typed[M, S]) planRemoval(ctx context.Context, get func(context.Context, any) diag.Diagnostics, claim owner.Claim, replaced bool) diag.Diagnostics {
	var m M
	if r.provided.Fleet == nil || get(ctx, &m).HasError() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, previewLimit)
	defer cancel()
	var found diag.Diagnostics
	if r.PlanRemoval != nil {
		found = r.PlanRemoval(ctx, StoreContext{ProviderData: r.provided, Claim: claim}, &m, replaced)
	}
	if replaced || r.provided.Fleet.Offline() {
		return found // what replaces it has a plan of its own
	}
	if store, err := r.Open(ctx, StoreContext{ProviderData: r.provided, Claim: claim}, &m); err == nil {
		if k, ok := store.(Keeper); ok {
			if err := k.MayDelete(ctx); err != nil {
				// What this state imported and never changed carries no mark of it, and may go in the same plan.
				found.AddWarning(fmt.Sprintf("%s %q is needed", r.Noun, r.Label(&m)), err.Error()+". The apply refuses to remove it while that is so.")
			}
		}
	}
	return found
}

// planID plans the id of a new object that its key makes up. An id that Plan made unknown stays so: the object goes with something
// else, and is made again under the same id.
func (r *typed[M, S]) planID(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	var before, planned types.String
	resp.Diagnostics.Append(req.Plan.GetAttribute(ctx, path.Root("id"), &before)...)
	resp.Diagnostics.Append(resp.Plan.GetAttribute(ctx, path.Root("id"), &planned)...)
	if id := r.ID(r.readPlanned(ctx, resp)); before.IsUnknown() && planned.IsUnknown() && id != "" {
		resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root("id"), id)...)
	}
}

// namesItself says whether a plan knows all that makes up the object's name.
func (r *typed[M, S]) namesItself(ctx context.Context, plan tfsdk.Plan) bool {
	return !slices.ContainsFunc(r.Key, func(name string) bool {
		var v types.String
		return plan.GetAttribute(ctx, path.Root(name), &v).HasError() || v.IsUnknown()
	})
}

// listNames lists what the key of an object calls it: as it is written, and as its id has it, since one object's name may be spelled in
// several ways. Machines are in them without their host keys, which not everybody writes. Two hypervisors may give one id.
func (r *typed[M, S]) listNames(ctx context.Context, m *M, get getter) (names []string, diags diag.Diagnostics) {
	key, hypervisor := make([]string, 0, len(r.Key)), ""
	for _, attribute := range r.Key {
		var v types.String
		diags.Append(get(ctx, path.Root(attribute), &v)...)
		key = append(key, host.WithoutKey(v.ValueString()))
		if attribute == "hypervisor" {
			hypervisor = v.ValueString()
		}
	}
	names = []string{fmt.Sprintf("%q", key)}
	if id := r.ID(m); id != "" {
		names = append(names, fmt.Sprintf("id %q on %q", host.WithoutKey(id), hypervisor))
	}
	return names, diags
}

// getter reads an attribute of a plan or of a state.
type getter = func(context.Context, path.Path, any) diag.Diagnostics

// readPlanned returns the model of a plan.
func (r *typed[M, S]) readPlanned(ctx context.Context, resp *resource.ModifyPlanResponse) *M {
	var m M
	resp.Diagnostics.Append(resp.Plan.Get(ctx, &m)...)
	return &m
}

// previewLimit bounds a look at a machine while planning: what it cannot say then, the apply says.
const previewLimit = 20 * time.Second

// mayCreate is an *owner.ForeignError where something of another's is in the place of what is planned; any other error is left to the
// apply.
func (r *typed[M, S]) mayCreate(ctx context.Context, m *M, claim owner.Claim) error {
	ctx, cancel := context.WithTimeout(ctx, previewLimit)
	defer cancel()
	store, err := r.Open(ctx, StoreContext{ProviderData: r.provided, Claim: claim}, m)
	if err != nil {
		return err
	}
	if p, ok := store.(Previewer); ok {
		return p.MayCreate(ctx)
	}
	return nil
}

// describeTaken says what is in the place of an object that is to be made. Where that is of this workspace, and this plan was not told
// of it, the apply decides: a resource that is read later may have it and give it up.
func (r *typed[M, S]) describeTaken(m *M, taken error) diag.Diagnostics {
	foreign, is := errors.AsType[*owner.ForeignError](taken)
	switch {
	case !is:
		return nil
	case r.provided.owners().IsUnknown(foreign.Owner):
		return diag.Diagnostics{diag.NewWarningDiagnostic(fmt.Sprintf("%s %q is there already", r.Noun, r.Label(m)),
			foreign.Error()+". The apply refuses to make it, unless the same run removes or replaces what is there.")}
	}
	return diag.Diagnostics{NewFailure("create", r.describeObject(m), foreign)}
}

// productName is how people write the name of a daemon that transactions call by the name of its directory.
func productName(daemon string) string {
	if name, ok := map[string]string{"bind": "BIND", "haproxy": "HAProxy"}[daemon]; ok {
		return name
	}
	return daemon
}

// tryPlanned refuses a plan that the daemon would refuse when it is applied. What the machine cannot say now, the apply says.
func (r *typed[M, S]) tryPlanned(ctx context.Context, resp *resource.ModifyPlanResponse, claim owner.Claim) {
	m := r.readPlanned(ctx, resp)
	spec, diags := r.Spec(ctx, m)
	if diags.HasError() || resp.Diagnostics.HasError() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, previewLimit)
	defer cancel()
	store, err := r.Open(ctx, StoreContext{ProviderData: r.provided, Claim: claim}, m)
	if err != nil {
		return
	}
	if t, ok := store.(Trier[S]); ok {
		if refused, is := errors.AsType[*transaction.RefusedError](t.Try(ctx, spec)); is {
			resp.Diagnostics.AddAttributeError(path.Root(r.Key[len(r.Key)-1]), productName(refused.Daemon)+" refuses what is planned",
				fmt.Sprintf("%s on %s would refuse the configuration with this in it: %v", refused.Daemon, refused.Host, refused.Err))
		}
	}
}
