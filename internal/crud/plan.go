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
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/fleet"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/parentcommand"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/plan"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/part"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// planning is one call to plan an object, with what its steps find out for those behind them.
type planning[M, S any] struct {
	*typed[M, S]
	ctx   context.Context
	req   resource.ModifyPlanRequest
	resp  *resource.ModifyPlanResponse
	isNew bool
	// m is the model of the plan as far as it is made, and spec the object that it describes, where specErrors is empty.
	m          *M
	spec       S
	specErrors diag.Diagnostics
	// claim is what the object has, or will have.
	claim owner.Claim
	// before is what the object of the state uses.
	before []plan.Use
	// taken is what the apply would say of what is in the object's place, if that was asked.
	taken error
	asked bool
}

// ModifyPlan implements resource.ResourceWithModifyPlan.
func (r *typed[M, S]) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	// Who plans a change beside this one, which gives way to it, knows by this that both are of one state.
	r.noteInState(ctx, req.Private, &resp.Diagnostics)
	r.learnDatabases(ctx, req.Private, &resp.Diagnostics)
	p := &planning[M, S]{typed: r, ctx: ctx, req: req, resp: resp, isNew: req.State.Raw.IsNull()}
	if req.Plan.Raw.IsNull() {
		p.planDestroy()
		return
	}
	p.ctx = fleet.Planning(ctx)
	p.planObject()
	if parentcommand.Destroys() {
		// What is about to go is planned as if it stayed: nothing that is wrong with it may keep it from going.
		resp.Diagnostics = resp.Diagnostics.Warnings()
	}
}

// planDestroy says what needs the object that is to go.
func (p *planning[M, S]) planDestroy() {
	p.claim = p.restoreClaim(p.ctx, p.req.Private, &p.resp.Diagnostics)
	p.m = new(M)
	if p.provided.Fleet == nil || p.req.State.Get(p.ctx, p.m).HasError() {
		return
	}
	found := p.askRemoval(false)
	found.Append(p.registerRemoval()...)
	if parentcommand.Destroys() {
		found = found.Warnings()
	}
	p.resp.Diagnostics.Append(found...)
}

// planObject plans an object that is to be there.
func (p *planning[M, S]) planObject() {
	p.resp.Plan.Raw = keepUnchanged(p.req.Config.Raw, p.req.State.Raw, p.resp.Plan.Raw)
	if p.readPlan(); p.m == nil {
		return
	}
	if p.refuseUnread(); p.resp.Diagnostics.HasError() {
		return
	}
	p.resp.Diagnostics.Append(p.specErrors...)
	if v, ok := any(p.spec).(Validator); ok && !p.specErrors.HasError() {
		p.resp.Diagnostics.Append(Problems(p.ctx, p.req.Plan, v.Validate())...)
	}
	p.findClaim()
	p.listUsesBefore()
	// Before the type's own plan, which may compare with what is there. What the wait was for has another answer after it.
	if p.isNew && p.provided.Fleet != nil && p.namesItself() && !p.resp.Diagnostics.HasError() {
		p.taken = p.mayCreate()
		p.asked = !p.awaitInState(p.ctx, p.taken, owner.AwaitPlan)
	}
	p.refuseUnknownHypervisor(p.ctx, p.req.Plan, p.req.State, &p.resp.Diagnostics)
	p.planType()
	if p.m == nil {
		return
	}
	p.noteSuccessor()
	p.registerUses(false)
	applying := p.provided.Run.IsApplying()
	if p.Trial != nil && !applying && !p.resp.Diagnostics.HasError() {
		p.Trial(p.ctx, p.openingContext(), p.req, p.resp, p.m)
	}
	if p.resp.Diagnostics.HasError() || !p.namesItself() {
		return
	}
	p.planID()
	if p.provided.Fleet == nil {
		return
	}
	if p.isNew && p.describeTaken() {
		p.lookAtMachine()
	}
	if p.TryAtPlan != nil && !applying && p.TryAtPlan(p.isNew) && p.req.Config.Raw.IsFullyKnown() && !p.resp.Plan.Raw.Equal(p.req.State.Raw) {
		p.tryPlanned()
	}
}

// readPlan reads the model of the plan as it is by now; nil after an error.
func (p *planning[M, S]) readPlan() {
	p.m = new(M)
	diags := p.resp.Plan.Get(p.ctx, p.m)
	if p.resp.Diagnostics.Append(diags...); diags.HasError() {
		p.m = nil
		return
	}
	p.spec, p.specErrors = p.Spec(p.ctx, p.m)
}

// findClaim finds what the object has for its claim. One that takes the place of an object that goes tells its type of that one.
func (p *planning[M, S]) findClaim() {
	if !p.isNew {
		p.claim = p.restoreClaim(p.ctx, p.req.Private, &p.resp.Diagnostics)
		return
	}
	p.claim = p.beginClaim(p.ctx, p.req.Private, p.m, p.resp.Plan.GetAttribute, &p.resp.Diagnostics)
	if p.claim.Replaces() {
		p.askRemoval(true) // nobody tells what there was
	}
}

// openingContext is what stores and the type's own steps are given while planning.
func (p *planning[M, S]) openingContext() StoreContext {
	return StoreContext{ProviderData: p.provided, Claim: p.claim.Planning()}
}

// planType has the type plan what is its own, and reads what became of the plan.
func (p *planning[M, S]) planType() {
	if p.Plan == nil || p.resp.Diagnostics.HasError() {
		return
	}
	p.registerUses(true)
	at, m := p.openingContext(), *p.m
	at.Announce = func() {
		if p.readPlan(); p.m != nil {
			p.registerUses(true)
		}
	}
	p.resp.Diagnostics.Append(p.readRecalled(p.ctx, p.req.Private, &m)...)
	p.Plan(p.ctx, at, p.req, p.resp, &m)
	p.asked = p.asked && p.resp.Plan.Raw.Equal(p.req.Plan.Raw)
	p.readPlan()
}

// askRemoval asks the type and the store about the object of the model, which goes.
func (p *planning[M, S]) askRemoval(replaced bool) (found diag.Diagnostics) {
	if p.provided.Fleet == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(p.ctx, previewLimit)
	defer cancel()
	at := StoreContext{ProviderData: p.provided, Claim: p.claim}
	if p.PlanRemoval != nil {
		found = p.PlanRemoval(ctx, at, p.m, replaced)
	}
	if replaced || p.provided.Fleet.Offline() {
		return found // what replaces it has a plan of its own
	}
	if store, err := p.Open(ctx, at, p.m); err == nil {
		if k, ok := store.(Keeper); ok {
			if err := k.MayDelete(ctx); err != nil {
				// What this state imported and never changed carries no mark of it, and may go in the same plan.
				found.AddWarning(p.describeObject(p.m)+" is needed", err.Error()+". The apply refuses to remove it while that is so.")
			}
		}
	}
	return found
}

// planID plans the id of a new object that its key makes up. An id that Plan made unknown stays so: the object goes with something
// else, and is made again under the same id.
func (p *planning[M, S]) planID() {
	var before, planned types.String
	p.resp.Diagnostics.Append(p.req.Plan.GetAttribute(p.ctx, path.Root("id"), &before)...)
	p.resp.Diagnostics.Append(p.resp.Plan.GetAttribute(p.ctx, path.Root("id"), &planned)...)
	if id := p.ID(p.m); before.IsUnknown() && planned.IsUnknown() && id != "" {
		p.resp.Diagnostics.Append(p.resp.Plan.SetAttribute(p.ctx, path.Root("id"), id)...)
		setID(p.m, id)
	}
}

// namesItself says whether the plan knows all that makes up the object's name.
func (p *planning[M, S]) namesItself() bool {
	return !slices.ContainsFunc(p.Key, func(name string) bool {
		var v types.String
		return p.resp.Plan.GetAttribute(p.ctx, path.Root(name), &v).HasError() || v.IsUnknown()
	})
}

// listNames lists what the key of an object calls it: as it is written, and as its id has it, since one object's name may be spelled in
// several ways. Machines are in them without their host keys, which not everybody writes. Two hypervisors may give one id.
func (r *typed[M, S]) listNames(ctx context.Context, m *M, get getter) (names []string) {
	key, hypervisor := make([]string, 0, len(r.Key)), ""
	for _, attribute := range r.Key {
		var v types.String
		get(ctx, path.Root(attribute), &v)
		key = append(key, host.WithoutKey(v.ValueString()))
		if attribute == hypervisorAttribute {
			hypervisor = v.ValueString()
		}
	}
	names = []string{fmt.Sprintf("%q", key)}
	if id := r.ID(m); id != "" {
		names = append(names, fmt.Sprintf("id %q on %q", host.WithoutKey(id), hypervisor))
	}
	return names
}

// getter reads an attribute of a plan or of a state.
type getter = func(context.Context, path.Path, any) diag.Diagnostics

// previewLimit bounds a look at a machine while planning: what it cannot say then, the apply says.
const previewLimit = 20 * time.Second

// mayCreate is an *owner.ForeignError where something of another's is in the place of what is planned; any other error is left to the
// apply.
func (p *planning[M, S]) mayCreate() error {
	ctx, cancel := context.WithTimeout(p.ctx, previewLimit)
	defer cancel()
	store, err := p.Open(ctx, StoreContext{ProviderData: p.provided, Claim: p.claim}, p.m)
	if err != nil {
		return err
	}
	if previewer, ok := store.(Previewer); ok {
		return previewer.MayCreate(ctx)
	}
	return nil
}

// describeTaken says what is in the place of an object that is to be made, or that its machine cannot be asked, and whether it could be. Where what
// is there is of this workspace, and this plan was not told of it, the apply decides: a resource that is read later may have it and give it up.
func (p *planning[M, S]) describeTaken() (answers bool) {
	if !p.asked {
		p.taken = p.mayCreate()
	}
	foreign, is := errors.AsType[*owner.ForeignError](p.taken)
	switch {
	case part.IsAbsent(p.taken), !is && slices.Contains(p.Key, hypervisorAttribute):
		// There is nothing of the name; what is a hypervisor's may also be in something that this apply makes, as a volume is in its pool.
	case !is:
		p.resp.Diagnostics.Append(p.describeLook(p.taken)...)
		return p.taken == nil
	case p.provided.ownerRun().IsUnknown(foreign.Owner):
		p.resp.Diagnostics.AddWarning(p.describeObject(p.m)+" is there already",
			foreign.Error()+". The apply refuses to make it, unless the same run removes or replaces what is there.")
	default:
		p.resp.Diagnostics.Append(NewFailure("create", p.describeObject(p.m), foreign))
	}
	return true
}

// lookAtMachine refuses a new object that its machine cannot have. A machine that cannot be asked is a warning at the attribute that names it.
func (p *planning[M, S]) lookAtMachine() {
	if p.specErrors.HasError() || p.resp.Diagnostics.HasError() {
		return
	}
	store, err := p.Open(p.ctx, p.openingContext(), p.m)
	if err != nil {
		return // whatever it is, there is no machine to look at yet
	}
	l, ok := store.(Looker[S])
	if !ok {
		return
	}
	p.resp.Diagnostics.Append(p.describeLook(l.LookAtMachine(p.ctx, p.spec))...)
}

// describeLook is DescribeLook of the planned object, at the attribute that names its machine. That this cannot be asked is said once.
func (p *planning[M, S]) describeLook(err error) diag.Diagnostics {
	found := DescribeLook(path.Root(p.Key[0]), p.describeObject(p.m), err)
	return slices.DeleteFunc(found, func(d diag.Diagnostic) bool {
		return slices.ContainsFunc(p.resp.Diagnostics, func(said diag.Diagnostic) bool {
			return said.Severity() == d.Severity() && said.Summary() == d.Summary()
		})
	})
}

// DescribeLook returns what a look at a machine says of a planned object: an error where that is placed at an attribute. A machine that cannot be
// asked is a warning at the attribute that names it.
func DescribeLook(machine path.Path, what string, err error) diag.Diagnostics {
	_, placed := errors.AsType[*service.AttributeError](err)
	switch {
	case err == nil, errors.Is(err, fleet.ErrUnknown):
		return nil
	case placed:
		return diag.Diagnostics{NewFailure("plan", what, err)}
	}
	return diag.Diagnostics{NewUnseen(machine, what, err)}
}

// productName is how people write the name of a daemon that transactions call by the name of its directory.
func productName(daemon string) string {
	if name, ok := map[string]string{"bind": "BIND", "haproxy": "HAProxy"}[daemon]; ok {
		return name
	}
	return daemon
}

// tryPlanned refuses a plan that the daemon would refuse when it is applied. What the machine cannot say now, the apply says.
func (p *planning[M, S]) tryPlanned() {
	if p.specErrors.HasError() || p.resp.Diagnostics.HasError() {
		return
	}
	ctx, cancel := context.WithTimeout(p.ctx, previewLimit)
	defer cancel()
	store, err := p.Open(ctx, p.openingContext(), p.m)
	if err != nil {
		return
	}
	if t, ok := store.(Trier[S]); ok {
		if refused, is := errors.AsType[*transaction.RefusedError](t.Try(ctx, p.spec)); is {
			p.resp.Diagnostics.AddAttributeError(path.Root(p.Key[len(p.Key)-1]), productName(refused.Daemon)+" refuses what is planned",
				fmt.Sprintf("%s on %s would refuse the configuration with this in it: %v", refused.Daemon, refused.Host, refused.Err))
		}
	}
}
