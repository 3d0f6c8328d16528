package crud

import (
	"context"
	"crypto/sha256"
	"fmt"
	"reflect"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/plan"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// machineAttributes are what attributes are called that name the machine of a resource.
var machineAttributes = []string{"host", "service_node"}

// registerUses tells the plan's ledger what the planned object uses, and reports what of it another resource has. Parts of it that are
// not known yet are compared when they are. replaces says that the object takes the place of one that the resource had.
func (r *typed[M, S]) registerUses(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse, replaces bool) {
	if r.provided.Fleet == nil {
		return
	}
	m := r.readPlanned(ctx, resp)
	uses := slices.DeleteFunc(r.listUses(ctx, m, resp.Plan.GetAttribute), func(u plan.Use) bool {
		unknown := func(root string) bool { return !isKnownAt(ctx, resp.Plan, []any{root}) }
		return !isKnownAt(ctx, resp.Plan, u.Path) || slices.ContainsFunc(u.Also, unknown)
	})
	holder := r.newHolder(ctx, m, r.recognise(ctx, m, req, &resp.Diagnostics), resp.Plan.GetAttribute)
	holder.Doing = plan.Makes
	if !req.State.Raw.IsNull() {
		var was M
		resp.Diagnostics.Append(req.State.Get(ctx, &was)...)
		holder.Doing = plan.Keeps
		if !reflect.DeepEqual(r.listUses(ctx, &was, req.State.GetAttribute), uses) {
			holder.Doing = plan.Changes
		}
	}
	refused := resp.Diagnostics.HasError()
	if !refused {
		uses = append(r.listNameUses(ctx, m, resp.Plan), uses...)
	}
	if r.Lasts && !refused && req.State.Raw.IsNull() && !replaces && r.namesItself(ctx, resp.Plan) {
		uses = append(uses, r.lastingName(ctx, m, resp.Plan.GetAttribute))
	}
	resp.Diagnostics.Append(r.register(holder, uses)...)
}

// register registers uses, and returns the collisions as errors.
func (r *typed[M, S]) register(holder plan.Holder, uses []plan.Use) diag.Diagnostics {
	var problems []service.Problem
	for _, c := range r.provided.Ledger.Register(holder, uses) {
		problems = append(problems, service.Problem{Path: c.Mine.Path, Summary: c.Rule.Summary, Detail: c.Detail()})
	}
	return Diagnostics(problems)
}

// registerRemoval tells the plan's ledger that an object goes, and returns what of the plan needs it.
func (r *typed[M, S]) registerRemoval(ctx context.Context, req resource.ModifyPlanRequest) (refused diag.Diagnostics) {
	var m M
	if r.provided.Fleet == nil || req.State.Get(ctx, &m).HasError() {
		return nil
	}
	var ignored diag.Diagnostics
	holder := r.newHolder(ctx, &m, r.recognise(ctx, &m, req, &ignored), req.State.GetAttribute)
	holder.Doing = plan.Removes
	uses := r.listUses(ctx, &m, req.State.GetAttribute)
	if r.Lasts {
		uses = append(uses, r.lastingName(ctx, &m, req.State.GetAttribute))
	}
	for i := range uses {
		uses[i].Path = nil // there is no configuration of it any more
	}
	return r.register(holder, uses)
}

// listNameUses returns that the object takes its names, as far as they are known: two resources that describe one object would each undo
// what the other makes.
func (r *typed[M, S]) listNameUses(ctx context.Context, m *M, planned tfsdk.Plan) []plan.Use {
	var names []string
	switch {
	case r.Shared:
	case r.Names != nil:
		names = r.Names(ctx, m)
	case r.namesItself(ctx, planned):
		names, _ = r.listNames(ctx, m, planned.GetAttribute)
	}
	at := r.Key[len(r.Key)-1]
	if at == "id" && r.Names != nil {
		at = "name"
	}
	uses := make([]plan.Use, 0, len(names))
	for _, name := range names {
		uses = append(uses, plan.Use{Kind: plan.ObjectName, Scope: r.Noun, Value: name, Path: []any{at}})
	}
	return uses
}

// lastingName returns that an object that lasts takes its name, or leaves it.
func (r *typed[M, S]) lastingName(ctx context.Context, m *M, get getter) plan.Use {
	names, _ := r.listNames(ctx, m, get)
	return plan.Use{Kind: plan.LastingName, Scope: r.Noun, Value: names[0], For: r.Name, Path: []any{"name"}}
}

// listUses returns what an object uses, as far as its type says so; nothing while its place is not known.
func (r *typed[M, S]) listUses(ctx context.Context, m *M, get getter) []plan.Use {
	spec, diags := r.Spec(ctx, m)
	user, is := any(spec).(plan.User)
	if !is || diags.HasError() {
		return nil
	}
	for _, name := range append(slices.Clone(machineAttributes), hypervisorAttribute) {
		var v types.String
		if has := r.hasAttribute(ctx, name); has && !get(ctx, path.Root(name), &v).HasError() && v.IsUnknown() {
			return nil
		}
	}
	return user.Uses()
}

func (r *typed[M, S]) hasAttribute(ctx context.Context, name string) bool {
	_, has := r.Type.Schema(ctx).Attributes[name]
	return has
}

// recognise returns what tells a resource from every other one of the plan, however often it is planned: its claim, or before it has one
// its configuration. Two that are written alike are told apart when they are created.
func (r *typed[M, S]) recognise(ctx context.Context, m *M, req resource.ModifyPlanRequest, diags *diag.Diagnostics) string {
	if claim := r.loadClaim(ctx, req.Private, diags); claim != nil {
		return r.Noun + " of owner " + claim.Mark().ID
	}
	return fmt.Sprintf("%s %q written as %x", r.Noun, r.Label(m), sha256.Sum256([]byte(req.Config.Raw.String())))
}

// newHolder names a resource for the plan's ledger, and says where it is.
func (r *typed[M, S]) newHolder(ctx context.Context, m *M, id string, get getter) plan.Holder {
	h := plan.Holder{ID: id, Self: r.describeObject(m), Object: host.WithoutKey(r.ID(m))}
	h.Name = h.Self
	if spec, diags := r.Spec(ctx, m); !diags.HasError() {
		if d, is := any(spec).(plan.Described); is {
			h.Name = d.Describe(h.Object)
		}
	}
	for _, name := range machineAttributes {
		var v types.String
		if r.hasAttribute(ctx, name) && !get(ctx, path.Root(name), &v).HasError() && v.ValueString() != "" {
			h.Places = append(h.Places, host.WithoutKey(v.ValueString()))
		}
	}
	if !r.hasAttribute(ctx, hypervisorAttribute) {
		return h
	}
	var v types.String
	get(ctx, path.Root(hypervisorAttribute), &v)
	if name := v.ValueString(); len(h.Places) == 0 {
		h.Places = []string{plan.NameHypervisor(name)}
		if name != "" {
			h.Name += fmt.Sprintf(" on hypervisor %q", name)
		}
		return h
	}
	for _, name := range r.provided.Fleet.Names() {
		if endpoint, err := r.provided.Fleet.HostOf(name); err == nil && host.WithoutKey(endpoint) == h.Places[0] {
			h.Places = append(h.Places, plan.NameHypervisor(name))
		}
	}
	return h
}
