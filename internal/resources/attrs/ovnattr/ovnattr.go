// Package ovnattr is what the resources in OVN's northbound database have in common: the attributes that say where it is, their ids, and
// how its stores are opened.
package ovnattr

import (
	"context"
	"sync"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

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

// FormatID is MACHINE#NOUN/NAME.
func (m *Model) FormatID(noun string) string {
	return hostattr.JoinID(m.OVN, noun+"/"+m.Name.ValueString())
}

// Split is the inverse of FormatID.
func (m *Model) Split(id, noun string) error {
	return hostattr.SplitName(id, "OVN#"+noun+"/NAME", &m.OVN, &m.Name)
}

// Attributes are those of Model, beside the others of a resource; what is what the description calls the resource.
func Attributes(noun, what string, others map[string]schema.Attribute) map[string]schema.Attribute {
	others["id"] = hostattr.ID("OVN#" + noun + "/NAME")
	others["ovn"] = schema.StringAttribute{
		Required: true, PlanModifiers: hostattr.OtherMachineReplaces(), Validators: []validator.String{values.Endpoint},
		MarkdownDescription: "Where OVN's northbound database is: the `id` of a `virtcluster_ovn`, or the endpoint of a machine that runs one, such as `ssh://root@10.0.0.100` or `local:`. " +
			"It is asked by its socket there, as a user who may: root, usually. Another one replaces the resource.",
	}
	others["name"] = schema.StringAttribute{
		Required: true, PlanModifiers: []planmodifier.String{stringplanmodifier.RequiresReplace()}, Validators: []validator.String{values.Name},
		MarkdownDescription: "Name of the " + what + " in the database. Another one replaces the resource.",
	}
	return others
}

// List makes the List of things of a kind, by what lists their names in a database.
func List(names func(context.Context, *ovn.Northbound) ([]string, error)) func(context.Context, crud.StoreContext, string) ([]map[string]string, error) {
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

// Open opens the store of something in the database that a model names.
func Open[S any](ctx context.Context, at crud.StoreContext, m *Model, noun string, thing ovn.Thing[S]) (*ovn.Store[S], error) {
	n, err := at.Fleet.Northbound(ctx, m.OVN.ValueString())
	if err != nil {
		return nil, err
	}
	return ovn.OpenStore(n, thing, m.FormatID(noun), at.Claim), nil
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
