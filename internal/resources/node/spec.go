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
	s, d := v.readSpec()
	return s, append(diags, d...)
}

// toSpec converts a version of which nothing is wrong, or has been said.
func (v *version) toSpec() *machine.Spec {
	s, _ := v.readSpec()
	return s
}

// readSpec converts a version, and says which of its texts are no addresses.
func (v *version) readSpec() (*machine.Spec, diag.Diagnostics) {
	s := &machine.Spec{Unknown: machine.Places{}}
	s.Boot.Order = machine.DefaultOrder(v.Root != nil)
	if v.Boot != nil {
		s.Boot.Order = nil
	}
	diags := convert.ToPlain(v, s, s.Unknown.Add)
	for name := range v.unknown {
		if v.isUnknown(name) {
			s.Unknown.Add(name)
		}
	}
	return s, diags
}
