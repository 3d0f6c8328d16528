package storagepool

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/storage"
)

type model struct {
	ID             types.String `tfsdk:"id"`
	Name           types.String `tfsdk:"name"`
	Hypervisor     types.String `tfsdk:"hypervisor"`
	Type           types.String `tfsdk:"type"`
	Path           types.String `tfsdk:"path"`
	Autostart      types.Bool   `tfsdk:"autostart"`
	Active         types.Bool   `tfsdk:"active"`
	CapacityBytes  types.Int64  `tfsdk:"capacity_bytes"`
	AvailableBytes types.Int64  `tfsdk:"available_bytes"`
}

// toSpec converts the model.
func toSpec(_ context.Context, m *model) (storage.Pool, diag.Diagnostics) {
	var p storage.Pool
	diags := convert.ToPlain(m, &p, func(...any) {})
	return p, diags
}

// fillModel writes what the hypervisor says into the model. How much room is free changes with whatever is written there, and
// would show in every plan: the sizes are those of when the pool was last made, started or stopped.
func fillModel(_ context.Context, m *model, got storage.Pool) diag.Diagnostics {
	was := *m
	convert.FromPlain(&got, m)
	if convert.Known(was.AvailableBytes) && was.Active.ValueBool() == got.Active {
		m.CapacityBytes, m.AvailableBytes = was.CapacityBytes, was.AvailableBytes
	}
	return nil
}
