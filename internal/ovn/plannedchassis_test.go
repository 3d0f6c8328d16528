package ovn

import (
	"errors"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/plan"
)

func TestHypervisorIsAChassisAsPlanned(t *testing.T) {
	t.Parallel()
	on := func(id string, kind plan.Kind, doing plan.Doing, all ...PlannedChassis) plan.Held {
		held := plan.Held{Holder: plan.Holder{Object: id, Doing: doing}, Use: plan.Use{Kind: kind}}
		if kind == plan.OVNChassis {
			held.Of = all
		}
		return held
	}
	hv1, hv2, unnamed := PlannedChassis{"one", "hv-1"}, PlannedChassis{"two", "hv-2"}, PlannedChassis{Name: "three"}
	v := heldView{
		on("ssh://both", plan.OVNChassis, plan.Makes, hv1, hv2),
		on("ssh://kept", plan.OVNChassis, plan.Keeps, hv1),
		on("ssh://unnamed", plan.OVNChassis, plan.Changes, hv1, unnamed),
		on("ssh://unnamedkept", plan.OVNChassis, plan.Keeps, hv1, unnamed),
		on("ssh://none", plan.OVNChassis, plan.Makes),
		on("ssh://unknown", plan.OVN, plan.Makes),
	}
	for name, c := range map[string]struct {
		machine, hypervisor string
		decided             bool
		want                string
	}{
		"one of them":                          {"ssh://both", "hv-2", true, ""},
		"none of them":                         {"ssh://both", "hv-3", true, `hypervisor "hv-3" is no chassis of OVN of ssh://both, whose chassis are "one" on hypervisor "hv-1", "two" on hypervisor "hv-2": write it into chassis`},
		"none of those that stay":              {"ssh://kept", "hv-2", true, `whose chassis are "one" on hypervisor "hv-1"`},
		"the provider's own":                   {"ssh://both", "", true, ""},
		"the provider's own, of what stays":    {"ssh://kept", "", false, ""},
		"one does not say what it is":          {"ssh://unnamed", "hv-3", true, ""},
		"one of what stays does not say":       {"ssh://unnamedkept", "hv-3", false, ""},
		"no chassis yet":                       {"ssh://none", "hv-1", true, ""},
		"chassis that are not known":           {"ssh://unknown", "hv-1", true, ""},
		"another OVN, which is not the plan's": {"ssh://elsewhere", "hv-1", false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			decided, err := CheckPlannedChassis(v, c.machine, c.hypervisor)
			if decided != c.decided || (err != nil) != (c.want != "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, %v, want %v, %q", decided, err, c.decided, c.want)
			}
			if _, is := errors.AsType[*NoChassisError](err); err != nil && !is {
				t.Errorf("the error is a %T", err)
			}
		})
	}
}
