package node_test

import (
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// TestAccNodeIsReplaced has Terraform plan a node anew that is there: what it has must not count as somebody else's.
func TestAccNodeIsReplaced(t *testing.T) {
	pool, network, image := stage(t, "nodereplace")
	attributes := oneInterface + "  wait_for = \"lease\"\n"
	made := config(image, network, attributes)
	replaced := resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectResourceAction(address, plancheck.ResourceActionReplace)}}
	// Nothing else fails with it.
	alone := regexp.MustCompile(`(?s)^Error running apply: exit status 1\s+Error: Cannot create node "acc".*gave\s+up\s+waiting.*raise\s+timeouts\.create\s*$`)
	var id string
	another := func(*terraform.State) error {
		now := strings.TrimSpace(virsh(t, "domuuid", "acc"))
		if now == id {
			t.Errorf("the node is the same: %s", id)
		}
		id = now
		// The lease that the node's predecessor left behind is not the one that was waited for.
		if out, err := exec.Command("ping", "-c", "3", "-i", "0.5", "-W", "1", "10.77.0.1").CombinedOutput(); err != nil {
			t.Errorf("the node has no address yet: %s", out)
		}
		return nil
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			{Config: config(image, network, attributes+"  timeouts = { create = \"3s\" }\n"), ExpectError: alone},
			{Config: made, ConfigPlanChecks: replaced, Check: another}, // it was left tainted
			{Taint: []string{address}, Config: made, ConfigPlanChecks: replaced, Check: another},
			{Config: strings.Replace(config(image, network, oneInterface+"  running = false\n"), fmt.Sprintf("image = %q", image), fmt.Sprintf("pool = %q", pool), 1), ConfigPlanChecks: replaced},
		},
	})
}

// TestAccNodeWithoutItsVolumes has what a destroy leaves that ended early, or somebody who removed a file.
func TestAccNodeWithoutItsVolumes(t *testing.T) {
	pool, network, image := stage(t, "nodevolumes")
	made := config(image, network, oneInterface+"  running = false\n  cloud_init = {}\n  disks = { data = { size_gib = 1 } }\n")
	remove := func(names ...string) func() {
		return func() {
			for _, name := range names {
				virsh(t, "vol-delete", name, pool)
			}
		}
	}
	there := says(t, "vol-list "+pool, `acc-data\.qcow2`, `acc-root\.qcow2`, `acc-seed\.iso`)
	plans := func(action plancheck.ResourceActionType) resource.ConfigPlanChecks {
		return resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectResourceAction(address, action)}}
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			{Config: made, Check: there},
			{PreConfig: remove("acc-data.qcow2", "acc-seed.iso"), Config: made, ConfigPlanChecks: plans(plancheck.ResourceActionUpdate), Check: there},
			{PreConfig: remove("acc-root.qcow2"), Config: made, ConfigPlanChecks: plans(plancheck.ResourceActionReplace), Check: there},
			{PreConfig: remove("acc-root.qcow2", "acc-data.qcow2"), Config: made, Destroy: true},
		},
	})
}
