package ovn_test

import (
	"context"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// What the user-space datapath can abort by it does not offer while it is a chassis', be Open vSwitch started anew or somebody have it offer that; and it
// offers that again when the chassis goes.
func TestAccOVNDatapathIsKeptFromAborting(t *testing.T) {
	acctest.InSandbox(t)
	acctest.Hypervisors(t, 2)
	acctest.StartSwitch(t, "hv-1")
	const find = `datapath=$(ovs-vsctl --if-exists get Open_vSwitch . datapaths:netdev); [ -z "$datapath" ] || `
	offers := func() string {
		out, _ := acctest.Try(context.Background(), "hv-1", "sh", "-c", find+`ovs-vsctl --if-exists get Datapath "$datapath" capabilities:ct_zero_snat`)
		return strings.Trim(strings.TrimSpace(out), `"`)
	}
	const left = "ls -A /etc/systemd/system/ovs-vswitchd.service.d 2>/dev/null; " + find + `ovs-vsctl get Datapath "$datapath" external_ids`
	s := acctest.NewState(t)
	s.DestroyAtEnd()
	s.Apply(config(chassis("hv-1")))
	if got := offers(); got != "false" {
		t.Fatalf("the datapath says %q", got)
	}
	s.Settled()

	acctest.On(t, "hv-1", "systemctl", "restart", "openvswitch-switch")
	acctest.Eventually(t, "Open vSwitch begun anew does not offer it", func() bool { return offers() == "false" })
	acctest.Eventually(t, "the chassis is as it is to be", func() bool {
		_, err := s.Try("plan", "-detailed-exitcode")
		return err == nil
	})

	acctest.On(t, "hv-1", "sh", "-ec", find+`ovs-vsctl set Datapath "$datapath" capabilities:ct_zero_snat=true`)
	if plan, _ := s.Try("plan", "-detailed-exitcode"); !strings.Contains(plan, "serving") {
		t.Errorf("what somebody has the datapath offer does not show:\n%s", plan)
	}
	s.Run("apply", "-auto-approve")
	if got := offers(); got != "false" {
		t.Errorf("the datapath says %q after an apply", got)
	}
	s.Settled()

	s.Run("destroy", "-auto-approve")
	if got := offers(); got != "true" {
		t.Errorf("the datapath says %q in the end", got)
	}
	if got := strings.TrimSpace(acctest.On(t, "hv-1", "sh", "-c", left)); got != "{}" {
		t.Errorf("left on hv-1: %s", got)
	}
}
