// Package node is virtcluster_node: a virtual machine with its disks, its seed, its reservations and its
// network filters, in one resource.
package node

import (
	"context"
	"errors"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/fleet"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/peer"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/rollout"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/machine"
)

// New returns a constructor whose resources share what they learn about the hypervisors.
func New() func() resource.Resource {
	facts := &machine.HypervisorCache{}
	return func() resource.Resource {
		return crud.New(crud.Type[model, *machine.Spec]{
			Name:    "node",
			Noun:    "node",
			Label:   func(m *model) string { return crud.NameOrID(m.Name, m.ID) },
			AsksOVN: true,
			Schema:  nodeSchema,
			Key:     []string{"hypervisor", "name"},
			// It moves to another hypervisor.
			Naming: crud.Naming[model]{MutableIdentity: true},
			// The id is the domain's UUID, which the store makes up when it creates the machine.
			ID:          func(m *model) string { return m.ID.ValueString() },
			Split:       splitImportID,
			Listing:     crud.Listing{List: crud.ListNamed((*fleet.Fleet).Hypervisor, machine.ListNames)},
			Spec:        func(ctx context.Context, m *model) (*machine.Spec, diag.Diagnostics) { return m.toSpec(ctx) },
			Fill:        func(ctx context.Context, m *model, got *machine.Spec) diag.Diagnostics { return m.fillModel(ctx, got) },
			PlanRemoval: planRemoval,
			Moves:       crud.Moves[model]{peer.Domain: moveDomain},
			TakesTurns:  func(m *model) bool { return convert.Known(m.Rollout) },
			Open: func(ctx context.Context, at crud.StoreContext, m *model) (crud.Store[*machine.Spec], error) {
				return openStore(ctx, at, m, facts)
			},
			Abandon: func(ctx context.Context, at crud.StoreContext, m *model) error {
				spec, diags := m.toSpec(ctx)
				if diags.HasError() {
					return fmt.Errorf("%s: %s", diags.Errors()[0].Summary(), diags.Errors()[0].Detail())
				}
				return machine.NewStore(nil, facts, at.Fleet.Northbound, spec, at.Claim).AbandonPorts(ctx)
			},
			Plan: func(ctx context.Context, at crud.StoreContext, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse, planned *model) {
				p := planner{cache: facts, at: at, req: req, resp: resp}
				p.planNode(ctx, planned)
			},
		})
	}
}

// splitImportID reads an import id: a domain's UUID or name, after "HYPERVISOR/" where it is on a named hypervisor.
func splitImportID(m *model, id string) error {
	if !crud.SplitPlace(id, machine.IsID, &m.Hypervisor, &m.ID, &m.Name) {
		return errors.New("write the domain's UUID or name, after \"HYPERVISOR/\" where it is on a named hypervisor")
	}
	return nil
}

// openStore finds the node's hypervisor: one that is imported by its UUID alone may be on any.
func openStore(ctx context.Context, at crud.StoreContext, m *model, facts *machine.HypervisorCache) (crud.Store[*machine.Spec], error) {
	if imported := m.Type.IsNull(); imported && m.Hypervisor.IsNull() && convert.Known(m.ID) {
		m.Hypervisor = findHypervisor(ctx, at.Fleet, m.ID.ValueString())
	}
	if err := at.Fleet.CheckNames(); err != nil {
		return nil, err // it may be on any
	}
	c, err := at.Fleet.Hypervisor(ctx, m.Hypervisor.ValueString())
	if err != nil {
		return nil, err
	}
	spec, diags := m.toSpec(ctx)
	if diags.HasError() {
		return nil, fmt.Errorf("%s: %s", diags.Errors()[0].Summary(), diags.Errors()[0].Detail())
	}
	all := at.Fleet.Known(ctx)
	store := machine.NewStore(c, facts, at.Fleet.Northbound, spec, at.Claim).Among(all)
	if spec.Rollout == nil {
		return store, nil
	}
	return rollout.NewStore(store, c, spec, rollout.Surroundings{
		Hypervisors: all, Host: at.Fleet.Host, Turns: &at.Run.Turns, Run: at.Run.Owners, Successor: at.Successor,
		Engine: &at.Fleet.Engine, HandOvers: &at.Run.HandOvers, Temporary: fleet.Temporary,
	}), nil
}

// findHypervisor finds the hypervisor of a domain: an id names no hypervisor, and it is unique among all.
func findHypervisor(ctx context.Context, f *fleet.Fleet, uuid string) types.String {
	for _, name := range f.Names() {
		c, err := f.Hypervisor(ctx, name) // where it is an error, the read says why
		if err == nil && machine.HasMachine(ctx, c, uuid) {
			return convert.Text(name)
		}
	}
	return types.StringNull()
}
