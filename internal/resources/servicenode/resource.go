// Package servicenode is the resource virtcluster_service_node.
package servicenode

import (
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/fleet"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/provision"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

var (
	_ crud.Owned  = (*provision.Store)(nil)
	_ crud.Warner = (*provision.Store)(nil)
)

// New makes the resource.
func New() resource.Resource {
	return crud.New(crud.Type[model, provision.Machine]{
		Name:   "service_node",
		Noun:   "service node",
		Label:  func(m *model) string { return m.displayName() },
		Schema: resourceSchema,
		Key:    []string{"id"},
		// Several service nodes may be one machine, each with services of its own.
		Naming: crud.Naming[model]{Shared: true},
		// Where nobody gives a host key, only the machine knows its id.
		ID:    func(m *model) string { return m.ID.ValueString() },
		Split: splitID,
		Spec:  func(_ context.Context, m *model) (provision.Machine, diag.Diagnostics) { return m.toSpec(), nil },
		Fill: func(_ context.Context, m *model, got provision.Machine) diag.Diagnostics {
			m.fillModel(got)
			return nil
		},
		Open:     openStore,
		Listing:  crud.Listing{Leftovers: listUnmodelled},
		Plan:     planChange,
		Timeouts: map[string]time.Duration{"read": 2 * time.Minute, "delete": 5 * time.Minute},
	})
}

// splitID takes an id, or an endpoint, whose key is then pinned.
func splitID(m *model, id string) error {
	_, err := host.ParseEndpoint(id)
	m.ID = types.StringValue(id)
	return err
}

// listUnmodelled lists what a machine has that no resource reads.
func listUnmodelled(ctx context.Context, at crud.StoreContext, machine string) ([]service.Unmodelled, error) {
	h, err := at.Fleet.Host(ctx, machine)
	if err != nil {
		return nil, err
	}
	return provision.ListUnmodelled(ctx, h)
}

func openStore(_ context.Context, at crud.StoreContext, m *model) (crud.Store[provision.Machine], error) {
	place := provision.Place{ID: m.ID.ValueString(), Endpoint: m.Endpoint.ValueString(), HostKey: m.HostKey.ValueString(), Name: m.displayName()}
	return provision.NewStore(at.Fleet, &at.Fleet.Engine, fleet.Temporary, at.Claim, place, m.serviceNames()), nil
}
