package node

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/machine"
)

// toSpec converts the model; an unknown becomes a zero value that is noted as unknown.
func (m *model) toSpec(ctx context.Context) (*machine.Spec, diag.Diagnostics) {
	v, diags := m.decodeNested(ctx)
	return v.toSpec(), diags
}

// toSpec converts a version.
func (v *version) toSpec() *machine.Spec {
	s := &machine.Spec{Unknown: machine.Places{}}
	s.Boot.Order = machine.DefaultOrder(v.Root != nil)
	if v.Boot != nil {
		s.Boot.Order = nil
	}
	_ = convert.ToPlain(v, s, s.Unknown.Add) // all of its addresses are texts, which Validate looks at
	for name := range v.unknown {
		if v.isUnknown(name) {
			s.Unknown.Add(name)
		}
	}
	return s
}
