package node

import (
	"cmp"
	"context"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/machine"
)

// fillModel writes what was read back into the model. A model without a type was just imported.
func (m *model) fillModel(ctx context.Context, got *machine.Spec) diag.Diagnostics {
	v, diags := m.decodeNested(ctx)
	v.fillModel(ctx, got)
	filled, d := v.encodeNested(ctx)
	*m = *filled
	return append(diags, d...)
}

func (v *version) fillModel(ctx context.Context, got *machine.Spec) {
	imported := v.Type.IsNull()
	clear(v.unknown)
	convert.FromPlain(got, v)
	v.Addresses = convert.Map(got.Addresses)
	if imported {
		v.fillSettings(ctx, got.Settings)
	}
	if v.Power.IsNull() { // of a state from before there was any other
		v.Power = types.StringValue(machine.Managed)
	}
}

// fillSettings writes what an import alone reads of how Terraform treats the node. A machine that this provider did not make gets the
// defaults.
func (v *version) fillSettings(ctx context.Context, got machine.Settings) {
	v.ShutdownTimeout = types.StringValue(cmp.Or(got.ShutdownTimeout, defaultShutdownTimeout))
	v.WaitFor = types.StringValue(cmp.Or(got.WaitFor, defaultWaitFor))
	v.Power = types.StringValue(cmp.Or(got.Power, machine.Managed))
	if t := got.Timeouts; t != nil {
		v.Timeouts = timeouts.Value{Object: convert.Value(*t).(types.Object)}
	}
}
