package exposureattr

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
)

// DecodePorts reads a map of ports, each as the resource has it; one that is not known at all is a zero one.
func DecodePorts[P any](ctx context.Context, ports types.Map, diags *diag.Diagnostics) map[string]P {
	all := map[string]P{}
	for name, e := range ports.Elements() {
		var p P
		if o, ok := e.(types.Object); ok && convert.Known(o) {
			diags.Append(o.As(ctx, &p, basetypes.ObjectAsOptions{})...)
		}
		all[name] = p
	}
	return all
}
