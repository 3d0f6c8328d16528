// Package ovnattr is what the resources in OVN's northbound database have in common: the attributes that say where it is, their ids, how they
// are listed and filled, and how their stores are opened.
package ovnattr

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/ovn"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/parentcommand"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/hostattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
)

// Model is the part of a model that names something in the northbound database.
type Model struct {
	ID   types.String `tfsdk:"id"`
	OVN  types.String `tfsdk:"ovn"`
	Name types.String `tfsdk:"name"`
}

// Type describes a type of things in the northbound database. M is the model, which has a Model in it, and S the thing in plain values.
type Type[M, S any] struct {
	// Noun is what ids call such a thing: "load_balancer".
	Noun   string
	Schema func(ctx context.Context) schema.Schema
	// List lists the names of those that a database has, and Thing is the one of a name.
	List  func(context.Context, *ovn.Northbound) ([]string, error)
	Thing func(name string) ovn.Thing[S]
	// Keep has what was read spelled as the model has it, where that means the same; may be nil.
	Keep func(was S, got *S)
	// Plan is that of crud.Type.
	Plan func(ctx context.Context, at crud.StoreContext, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse, planned *M)
}

// New makes the framework's resource of such a type.
func New[M, S any](t Type[M, S]) resource.Resource {
	form := "OVN#" + t.Noun + "/NAME"
	place := func(m *M) *types.String { return convert.Attribute[types.String](m, "ovn") }
	name := func(m *M) *types.String { return convert.Attribute[types.String](m, "name") }
	formatID := func(m *M) string { return hostattr.JoinID(*place(m), t.Noun+"/"+name(m).ValueString()) }
	return crud.New(crud.Type[M, S]{
		Name:    "ovn_" + t.Noun,
		Noun:    "OVN " + strings.ReplaceAll(t.Noun, "_", " "),
		Label:   func(m *M) string { return name(m).ValueString() },
		AsksOVN: true,
		Schema:  t.Schema,
		Key:     []string{"ovn", "name"},
		ID:      formatID,
		Split:   func(m *M, id string) error { return hostattr.SplitName(id, form, place(m), name(m)) },
		Listing: crud.Listing{List: listNamed(t.List)},
		Fill: func(_ context.Context, m *M, got S) diag.Diagnostics {
			was, diags := convert.Plain[S](m)
			if t.Keep != nil {
				t.Keep(was, &got)
			}
			convert.FromPlain(&got, m)
			return diags
		},
		Open: func(ctx context.Context, at crud.StoreContext, m *M) (crud.Store[S], error) {
			n, err := at.Fleet.Northbound(ctx, place(m).ValueString())
			if err != nil {
				return nil, err
			}
			return ovn.OpenStore(n, t.Thing(name(m).ValueString()), formatID(m), at.Claim), nil
		},
		Plan: t.Plan,
	})
}

// listNamed makes the List of things of a kind, by what lists their names in a database.
func listNamed(names func(context.Context, *ovn.Northbound) ([]string, error)) func(context.Context, crud.StoreContext, string) ([]map[string]string, error) {
	return func(ctx context.Context, at crud.StoreContext, machine string) (keys []map[string]string, err error) {
		n, err := at.Fleet.Northbound(ctx, machine)
		if err != nil {
			return nil, err
		}
		found, err := names(ctx, n)
		for _, name := range found {
			keys = append(keys, map[string]string{"name": name})
		}
		return keys, err
	}
}

// Attributes are those of Model, beside the others of a resource; noun is that of its Type.
func Attributes(noun string, others map[string]schema.Attribute) map[string]schema.Attribute {
	others["id"] = hostattr.ID("OVN#" + noun + "/NAME")
	others["ovn"] = values.Endpoint.Required("Where OVN's northbound database is: the `id` of a `virtcluster_ovn`, or the endpoint of a machine that runs one, such as `ssh://root@10.0.0.100` or `local:`. "+
		"It is asked by its socket there, as a user who may: root, usually. Another one replaces the resource.", hostattr.OtherMachineReplaces()...)
	others["name"] = values.Name.Required("Name of the "+strings.ReplaceAll(noun, "_", " ")+" in the database. Another one replaces the resource.", stringplanmodifier.RequiresReplace())
	return others
}

// FindPlanned returns what a plan will have in the database of a machine. Of a plan of chosen resources what was not chosen stays as it is: what this run is not
// told of within the time that a plan takes until most of it was read. An apply is told of what it changes only, and its plan has been compared.
func FindPlanned(ctx context.Context, at crud.StoreContext, machine string) ovn.Planned {
	planned := ovn.FindPlanned(at.Ledger, machine)
	if !parentcommand.ChoosesTargets() || at.Run.IsApplying() {
		return planned
	}
	end := sync.OnceValue(func() time.Time { return time.Now().Add(owner.AwaitPlan) })
	planned.Stays = func(mark owner.Mark) bool { return !at.Claim.Run().AwaitInState(ctx, mark, time.Until(end())) }
	return planned
}
