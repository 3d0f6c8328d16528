package crud

import (
	"context"
	"crypto/rand"
	"encoding/json"
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
// not known yet are compared when they are. replaces says that the object takes the place of one that the resource had. Before the type's
// own plan it is provisional: what others look for is found while they ask their machines, whoever is planned first.
func (r *typed[M, S]) registerUses(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse, replaces, provisional bool) {
	if r.provided.Fleet == nil {
		return
	}
	m := r.readPlanned(ctx, resp)
	known := map[string]bool{}
	unknown := func(root string) bool {
		if _, asked := known[root]; !asked {
			known[root] = isKnownAt(ctx, resp.Plan, []any{root})
		}
		return !known[root]
	}
	spec, diags := r.Spec(ctx, m)
	if diags.HasError() {
		return
	}
	uses := slices.DeleteFunc(r.listUses(ctx, spec, resp.Plan.GetAttribute), func(u plan.Use) bool { return slices.ContainsFunc(u.Known, unknown) })
	holder := r.newHolder(ctx, m, spec, r.recognise(ctx, resp.Private, &resp.Diagnostics), resp.Plan.GetAttribute)
	holder.Doing = plan.Makes
	var before []plan.Use
	if !req.State.Raw.IsNull() {
		var was M
		resp.Diagnostics.Append(req.State.Get(ctx, &was)...)
		if old, diags := r.Spec(ctx, &was); !diags.HasError() {
			before = r.listUses(ctx, old, req.State.GetAttribute)
		}
		holder.Doing = plan.Keeps
		if !slices.EqualFunc(before, uses, func(a, b plan.Use) bool { return a.IsSame(b) && a.For == b.For }) {
			holder.Doing = plan.Changes
		}
	}
	for i := range uses {
		uses[i].New = !slices.ContainsFunc(before, uses[i].IsSame)
	}
	if holder.Provisional = provisional; provisional {
		r.provided.Ledger.Register(holder, uses)
		return
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
	spec, diags := r.Spec(ctx, &m)
	if diags.HasError() {
		return nil
	}
	holder := r.newHolder(ctx, &m, spec, r.recognise(ctx, req.Private, &ignored), req.State.GetAttribute)
	holder.Doing = plan.Removes
	uses := r.listUses(ctx, spec, req.State.GetAttribute)
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

// listUses returns what an object uses, as far as its type says so. While it is not known where it is, that is what it gives.
func (r *typed[M, S]) listUses(ctx context.Context, spec S, get getter) []plan.Use {
	user, is := any(spec).(plan.User)
	if !is {
		return nil
	}
	uses := user.Uses()
	if _, known := r.listPlaces(ctx, get); !known {
		return slices.DeleteFunc(uses, func(u plan.Use) bool { return u.Verb != plan.Gives })
	}
	return uses
}

// listPlaces returns the machine or the hypervisor that a resource is on, as messages have them, and whether that is known. A
// hypervisor's machine is at both.
func (r *typed[M, S]) listPlaces(ctx context.Context, get getter) (places []string, known bool) {
	read := func(name string) (v types.String, has bool) {
		has = !get(ctx, path.Root(name), &v).HasError()
		return v, has
	}
	for _, name := range machineAttributes {
		v, _ := read(name)
		if v.IsUnknown() {
			return nil, false
		}
		if v.ValueString() != "" {
			places = append(places, host.WithoutKey(v.ValueString()))
		}
	}
	v, has := read(hypervisorAttribute)
	switch {
	case !has:
		return places, true
	case v.IsUnknown():
		return nil, false
	case len(places) == 0:
		return []string{plan.NameHypervisor(v.ValueString())}, true
	}
	for _, name := range r.provided.Fleet.Names() {
		if endpoint, err := r.provided.Fleet.HostOf(name); err == nil && host.WithoutKey(endpoint) == places[0] {
			places = append(places, plan.NameHypervisor(name))
		}
	}
	return places, true
}

// recognise returns what tells a resource from every other one of the plan, however often it is planned: its claim, or before it has one
// a token, which goes from one plan of it to the next as private state does. The provider is not told the address of a resource.
func (r *typed[M, S]) recognise(ctx context.Context, kept private, diags *diag.Diagnostics) string {
	if claim := r.loadClaim(ctx, kept, diags); claim != nil {
		return r.Noun + " of owner " + claim.Mark().ID
	}
	token, d := KeepToken(ctx, kept)
	diags.Append(d...)
	return r.Noun + " of token " + token
}

// tokenKey is where a resource's private state keeps its token.
const tokenKey = "resource"

// KeepToken returns the token of a resource, which its private state keeps from now on.
func KeepToken(ctx context.Context, kept PrivateState) (token string, diags diag.Diagnostics) {
	text, diags := kept.GetKey(ctx, tokenKey)
	if json.Unmarshal(text, &token) == nil && token != "" {
		return token, diags
	}
	token = rand.Text()
	encoded, _ := json.Marshal(token) // a string can be encoded
	return token, append(diags, kept.SetKey(ctx, tokenKey, encoded)...)
}

// newHolder names a resource for the plan's ledger, and says where it is.
func (r *typed[M, S]) newHolder(ctx context.Context, m *M, spec S, id string, get getter) plan.Holder {
	h := plan.Holder{ID: id, Self: r.describeObject(m), Object: host.WithoutKey(r.ID(m))}
	h.Name = h.Self
	if d, is := any(spec).(plan.Described); is {
		h.Name = d.Describe(h.Object)
	}
	h.Places, _ = r.listPlaces(ctx, get)
	if len(h.Places) > 0 && plan.IsNamedHypervisor(h.Places[0]) {
		h.Name += " on " + h.Places[0]
	}
	return h
}
