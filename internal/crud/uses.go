package crud

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/plan"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// machineAttributes are what attributes are called that name the machine of a resource.
var machineAttributes = []string{"host", "service_node", "ovn"}

// listUsesBefore lists what the object of the state uses.
func (p *planning[M, S]) listUsesBefore() {
	if p.isNew || p.provided.Fleet == nil {
		return
	}
	var was M
	p.resp.Diagnostics.Append(p.req.State.Get(p.ctx, &was)...)
	if spec, diags := p.Spec(p.ctx, &was); !diags.HasError() {
		p.before = p.listUses(p.ctx, spec, p.req.State.GetAttribute)
	}
}

// registerUses tells the plan's ledger what the planned object uses, and reports what of it another resource has. Parts of it that are
// not known yet are compared when they are. Before the type's own plan it is provisional: what others look for is found while they ask
// their machines, whoever is planned first.
func (p *planning[M, S]) registerUses(provisional bool) {
	if p.provided.Fleet == nil || p.specErrors.HasError() {
		return
	}
	known := map[string]bool{}
	unknown := func(root string) bool {
		if _, asked := known[root]; !asked {
			known[root] = isKnownAt(p.resp.Plan, []any{root})
		}
		return !known[root]
	}
	get := p.resp.Plan.GetAttribute
	uses := slices.DeleteFunc(p.listUses(p.ctx, p.spec, get), func(u plan.Use) bool { return slices.ContainsFunc(u.Known, unknown) })
	holder := p.newHolder(p.ctx, p.m, p.spec, p.recogniseObject(p.ctx, p.resp.Private, &p.resp.Diagnostics), get)
	holder.Provisional = provisional
	switch {
	case p.isNew:
		holder.Doing = plan.Makes
	case slices.EqualFunc(p.before, uses, func(a, b plan.Use) bool { return a.IsSame(b) && a.For == b.For }):
		holder.Doing = plan.Keeps
	default:
		holder.Doing = plan.Changes
	}
	had := map[plan.Identity]bool{} // a zone has thousands
	for _, u := range p.before {
		had[u.Identify()] = true
	}
	for i, u := range uses {
		uses[i].New = !had[u.Identify()]
	}
	if provisional {
		p.provided.Ledger.Register(holder, uses)
		return
	}
	if !p.resp.Diagnostics.HasError() {
		uses = append(p.listNameUses(), uses...)
		if p.Lasts && p.isNew && !p.claim.Replaces() && p.namesItself() {
			uses = append(uses, p.lastingName(p.ctx, p.m, get))
		}
	}
	p.resp.Diagnostics.Append(p.registerWith(holder, uses)...)
}

// registerWith registers uses, and returns the collisions as errors.
func (r *typed[M, S]) registerWith(holder plan.Holder, uses []plan.Use) diag.Diagnostics {
	var problems []service.Problem
	for _, c := range r.provided.Ledger.Register(holder, uses) {
		problems = append(problems, service.Problem{Path: c.Mine.Path, Summary: c.Rule.Summary, Detail: c.Detail()})
	}
	return Diagnostics(problems)
}

// registerRemoval tells the plan's ledger that the object of the model goes, and returns what of the plan needs it.
func (p *planning[M, S]) registerRemoval() (refused diag.Diagnostics) {
	spec, diags := p.Spec(p.ctx, p.m)
	if diags.HasError() {
		return nil
	}
	var ignored diag.Diagnostics
	get := p.req.State.GetAttribute
	holder := p.newHolder(p.ctx, p.m, spec, p.recogniseObject(p.ctx, p.req.Private, &ignored), get)
	holder.Doing = plan.Removes
	uses := p.listUses(p.ctx, spec, get)
	if p.Lasts {
		uses = append(uses, p.lastingName(p.ctx, p.m, get))
	}
	for i := range uses {
		uses[i].Path = nil // there is no configuration of it any more
	}
	return p.registerWith(holder, uses)
}

// listNameUses returns that the object takes its names, as far as they are known: two resources that describe one object would each undo
// what the other makes.
func (p *planning[M, S]) listNameUses() []plan.Use {
	var names []string
	switch {
	case p.Shared:
	case p.Names != nil:
		names = p.Names(p.ctx, p.m)
	case p.namesItself():
		names = p.listNames(p.ctx, p.m, p.resp.Plan.GetAttribute)
	}
	at := p.Key[len(p.Key)-1]
	if at == "id" && p.Names != nil {
		at = "name"
	}
	uses := make([]plan.Use, 0, len(names))
	for _, name := range names {
		uses = append(uses, plan.Use{Kind: plan.ObjectName, Scope: p.Noun, Value: name, Path: []any{at}})
	}
	return uses
}

// lastingName returns that an object that lasts takes its name, or leaves it.
func (r *typed[M, S]) lastingName(ctx context.Context, m *M, get getter) plan.Use {
	return plan.Use{Kind: plan.LastingName, Scope: r.Noun, Value: r.listNames(ctx, m, get)[0], For: r.Name, Path: []any{"name"}}
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

// recogniseObject returns what tells a resource from every other one of the plan, however often it is planned: its claim, or before it has one
// a token, which goes from one plan of it to the next as private state does. The provider is not told the address of a resource.
func (r *typed[M, S]) recogniseObject(ctx context.Context, kept private, diags *diag.Diagnostics) string {
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
