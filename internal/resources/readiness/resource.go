// Package readiness is the resource virtcluster_readiness.
package readiness

import (
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/parentcommand"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/readiness"
)

// New is the constructor that the provider offers.
func New() resource.Resource {
	return crud.New(crud.Type[model, readiness.Ready]{
		Name:   "readiness",
		Noun:   "readiness",
		Label:  formatID,
		Schema: resourceSchema,
		Key:    []string{"id"},
		ID:     formatID,
		Split:  splitID,
		Spec:   func(ctx context.Context, m *model) (readiness.Ready, diag.Diagnostics) { return m.toSpec(ctx) },
		Fill: func(_ context.Context, m *model, got readiness.Ready) diag.Diagnostics {
			m.fillModel(got)
			return nil
		},
		Open: openStore,
		// The condition has its own time, to which the last question and the way to the machine come.
		Timeouts: map[string]time.Duration{"create": maxTimeout + time.Minute, "update": maxTimeout + time.Minute, "delete": maxTimeout + time.Minute},
	})
}

func openStore(ctx context.Context, at crud.StoreContext, m *model) (crud.Store[readiness.Ready], error) {
	known, _ := m.toSpec(ctx)
	var asker readiness.Asker = readiness.Here{}
	if from := m.From.ValueString(); from != "" {
		h, err := at.Fleet.Host(ctx, from)
		if err != nil {
			return nil, err
		}
		asker = readiness.There{Host: h}
	}
	return readiness.NewStore(asker, known, parentcommand.DestroysAll), nil
}
