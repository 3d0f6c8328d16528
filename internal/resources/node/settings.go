package node

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/machine"
)

// Defaults of how Terraform treats a node.
const (
	defaultShutdownTimeout = "60s"
	defaultWaitFor         = "none"
)

// settings are what the mark says of how Terraform treats the node: libvirt has no place for them, and what is
// imported would differ from its configuration without.
func (v *version) settings() *machine.MarkedSettings {
	s := &machine.MarkedSettings{
		AllowRestart: v.AllowRestart.ValueBool(), ShutdownTimeout: v.ShutdownTimeout.ValueString(), WaitFor: v.WaitFor.ValueString(),
	}
	if known(v.Timeouts) {
		text := func(operation string) string {
			t, _ := v.Timeouts.Attributes()[operation].(types.String)
			return t.ValueString()
		}
		s.Timeouts = &machine.MarkedTimeouts{Create: text("create"), Read: text("read"), Update: text("update"), Delete: text("delete")}
	}
	return s
}

// fillSettings reads them; a machine that this provider did not make, or an older version of it, has the defaults.
func (v *version) fillSettings(ctx context.Context, s *machine.MarkedSettings) {
	if s == nil {
		s = &machine.MarkedSettings{}
	}
	or := func(text, usual string) types.String {
		if text == "" {
			text = usual
		}
		return types.StringValue(text)
	}
	v.AllowRestart = types.BoolValue(s.AllowRestart)
	v.ShutdownTimeout, v.WaitFor = or(s.ShutdownTimeout, defaultShutdownTimeout), or(s.WaitFor, defaultWaitFor)
	if t := s.Timeouts; t != nil {
		v.Timeouts = timeouts.Value{Object: types.ObjectValueMust(v.Timeouts.AttributeTypes(ctx), map[string]attr.Value{
			"create": optional(t.Create), "read": optional(t.Read), "update": optional(t.Update), "delete": optional(t.Delete),
		})}
	}
}
