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
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/plan"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// machineAttributes are what attributes are called that name the machine of a resource.
var machineAttributes = []string{"host", "service_node"}

// registerUses tells the plan's ledger what the planned object uses, and reports what of it another resource has. An object whose
// machine or hypervisor is not known yet is compared when it is.
func (r *typed[M, S]) registerUses(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	m := r.readPlanned(ctx, resp)
	uses, is := r.listUses(ctx, m, resp.Plan.GetAttribute)
	if !is || r.provided.Fleet == nil {
		return
	}
	uses = slices.DeleteFunc(uses, func(u plan.Use) bool {
		unknown := func(root string) bool { return !isKnownAt(ctx, resp.Plan, []any{root}) }
		return !isKnownAt(ctx, resp.Plan, u.Path) || slices.ContainsFunc(u.Also, unknown)
	})
	doing := plan.Makes
	if !req.State.Raw.IsNull() {
		var was M
		resp.Diagnostics.Append(req.State.Get(ctx, &was)...)
		doing = plan.Keeps
		if before, _ := r.listUses(ctx, &was, req.State.GetAttribute); !reflect.DeepEqual(before, uses) {
			doing = plan.Changes
		}
	}
	holder := r.newHolder(ctx, m, r.recognise(ctx, m, req, &resp.Diagnostics), resp.Plan.GetAttribute)
	holder.Doing = doing
	for _, c := range r.provided.Ledger.Register(holder, uses) {
		resp.Diagnostics.Append(Diagnostics([]service.Problem{{Path: c.Mine.Path, Summary: c.Rule.Summary, Detail: c.Detail()}})...)
	}
}

// listUses returns what an object uses, and whether its type says so and its place is known.
func (r *typed[M, S]) listUses(ctx context.Context, m *M, get getter) ([]plan.Use, bool) {
	spec, diags := r.Spec(ctx, m)
	user, is := any(spec).(plan.User)
	if !is || diags.HasError() {
		return nil, false
	}
	for _, name := range append(slices.Clone(machineAttributes), hypervisorAttribute) {
		var v types.String
		if has := r.hasAttribute(ctx, name); has && !get(ctx, path.Root(name), &v).HasError() && v.IsUnknown() {
			return nil, false
		}
	}
	return user.Uses(), true
}

func (r *typed[M, S]) hasAttribute(ctx context.Context, name string) bool {
	_, has := r.Type.Schema(ctx).Attributes[name]
	return has
}

// recognise returns what tells a resource from every other one of the plan, however often it is planned: its claim, or before it has one
// its configuration. Two that are written alike are told apart when they are created.
func (r *typed[M, S]) recognise(ctx context.Context, m *M, req resource.ModifyPlanRequest, diags *diag.Diagnostics) string {
	if claim := loadClaim(ctx, req.Private, diags); claim != nil {
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
