package node

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/machine"
)

func TestAMarkWithoutSettingsMeansTheDefaults(t *testing.T) {
	t.Parallel()
	imported := version{}
	imported.fillModel(t.Context(), &machine.Spec{})
	planned := planOf(&version{}, &version{})
	for name, pair := range map[string][2]attr.Value{
		"allow_restart": {imported.AllowRestart, planned.AllowRestart}, "shutdown_timeout": {imported.ShutdownTimeout, planned.ShutdownTimeout},
		"wait_for": {imported.WaitFor, planned.WaitFor}, "power": {imported.Power, planned.Power},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if !pair[0].Equal(pair[1]) {
				t.Errorf("%s is %s, and a plan wants %s", name, pair[0], pair[1])
			}
		})
	}
}

func TestSettingsComeBackFromTheMark(t *testing.T) {
	t.Parallel()
	kinds := attributeTypes()["timeouts"].(timeouts.Type).AttrTypes
	limits := types.ObjectValueMust(kinds, map[string]attr.Value{"create": text("30m"), "read": types.StringNull(), "update": types.StringNull(), "delete": text("1m")})
	for name, v := range map[string]version{
		"none": {plain: plain{AllowRestart: types.BoolValue(false), ShutdownTimeout: text("0s"), WaitFor: text("none"), Power: text("managed"), Timeouts: timeouts.Value{Object: types.ObjectNull(kinds)}}},
		"all":  {plain: plain{AllowRestart: types.BoolValue(true), ShutdownTimeout: text("20s"), WaitFor: text("lease"), Power: text("external"), Timeouts: timeouts.Value{Object: limits}}},
	} {
		t.Run(name, func(t *testing.T) {
			got := version{plain: plain{Timeouts: timeouts.Value{Object: types.ObjectNull(kinds)}}}
			got.fillModel(t.Context(), v.toSpec())
			if !got.AllowRestart.Equal(v.AllowRestart) || !got.ShutdownTimeout.Equal(v.ShutdownTimeout) || !got.WaitFor.Equal(v.WaitFor) || !got.Power.Equal(v.Power) || !got.Timeouts.Equal(v.Timeouts) {
				t.Errorf("came back as %v", got.plain)
			}
		})
	}
}

func TestAStateFromBeforeNodesHadPowerIsManaged(t *testing.T) {
	got := version{plain: plain{Type: text("kvm"), Power: types.StringNull()}}
	got.fillModel(t.Context(), &machine.Spec{Hardware: machine.Hardware{Type: "kvm"}})
	if got.Power.ValueString() != machine.Managed {
		t.Errorf("it is %s", got.Power)
	}
}
