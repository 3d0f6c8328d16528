// Package openvswitch_test has nodes in bridges of Open vSwitch. It is apart from their other tests, as it takes a further hypervisor, where that runs.
package openvswitch_test

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

const address = "virtcluster_node.n"

func TestAccNodeIsInVLANsOfOpenVSwitch(t *testing.T) {
	acctest.BothCLIs(t)
	acctest.InSandbox(t)
	acctest.Hypervisors(t, 1)
	acctest.StartSwitch(t, "hv-1")
	acctest.On(t, "hv-1", "ovs-vsctl", "add-br", "br-trunk", "--", "set", "bridge", "br-trunk", "datapath_type=netdev")
	t.Cleanup(func() {
		if out, err := acctest.Try(context.WithoutCancel(t.Context()), "hv-1", "ovs-vsctl", "--if-exists", "del-br", "br-trunk"); err != nil {
			t.Error(err, out)
		}
	})
	node := func(wiring string) string {
		return fmt.Sprintf("provider \"virtcluster\" {\n  ssh = { private_key_file = %q }\n  hypervisors = { hv-1 = { uri = %q } }\n}\n", os.Getenv("SANDBOX_SSH_KEY"), acctest.HypervisorURI("hv-1")) + fmt.Sprintf(`
resource "virtcluster_node" "n" {
  hypervisor         = "hv-1"
  name               = "acc"
  type               = "qemu"
  memory_mib         = 64
  shutdown_timeout   = "0s"
  network_interfaces = [{ bridge = "br-trunk"%s }]
}
`, wiring)
	}
	// port checks what Open vSwitch has of the node's port.
	port := func(want ...string) resource.TestCheckFunc {
		return func(*terraform.State) error {
			got := acctest.On(t, "hv-1", "sh", "-ec", "ovs-vsctl --columns=tag,trunks,vlan_mode list Port $(ovs-vsctl list-ports br-trunk)")
			for _, w := range want {
				if !regexp.MustCompile(w).MatchString(got) {
					t.Errorf("the port is otherwise than %s:\n%s", w, got)
				}
			}
			return nil
		}
	}
	var id string
	sameRun := func(*terraform.State) error {
		if now := acctest.On(t, "hv-1", "virsh", "domid", "acc"); now != id {
			return fmt.Errorf("the node was restarted: it was %s and is %s", id, now)
		}
		return nil
	}
	updates := resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectResourceAction(address, plancheck.ResourceActionUpdate)}}
	const (
		portID = "c2177883-f1bb-47f0-914d-32a22e3a8804"
		native = ", virtual_port = \"openvswitch\", interface_id = \"" + portID + "\", vlan = { id = 42, trunk = [10, 20] }"
		trunk  = ", virtual_port = \"openvswitch\", vlan = { trunk = [10, 30] }"
	)
	hasID := func(*terraform.State) error {
		if got := acctest.On(t, "hv-1", "sh", "-ec", "ovs-vsctl get Interface $(ovs-vsctl list-ports br-trunk) external_ids:iface-id"); strings.Trim(got, `"`) != portID {
			return fmt.Errorf("Open vSwitch knows the port by %s", got)
		}
		return nil
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			{Config: node(", interface_id = \"" + portID + "\""), ExpectError: regexp.MustCompile(`Interface[\s│]+id[\s│]+without[\s│]+a[\s│]+virtual[\s│]+port`)},
			{Config: node(", vlan = { id = 42 }"), ExpectError: regexp.MustCompile(`VLAN[\s│]+without[\s│]+Open[\s│]+vSwitch`)},
			{Config: node(strings.Replace(native, "20]", "42]", 1)), ExpectError: regexp.MustCompile(`VLAN[\s│]+with[\s│]+and[\s│]+without[\s│]+a[\s│]+tag`)},
			{Config: node(native), Check: resource.ComposeTestCheckFunc(hasID, port(`tag *: 42\b`, `trunks *: \[10, 20, 42\]|trunks *: \[10, 20\]`, `vlan_mode *: native-untagged`))},
			{ResourceName: address, ImportState: true, ImportStateId: "hv-1/acc", ImportStateVerify: true},
			{ // other VLANs while it runs
				PreConfig: func() { id = acctest.On(t, "hv-1", "virsh", "domid", "acc") },
				Config:    node(trunk), ConfigPlanChecks: updates, Check: resource.ComposeTestCheckFunc(port(`tag *: \[\]`, `trunks *: \[10, 30\]`), sameRun, hasID),
			},
			{ // drift
				PreConfig: func() {
					acctest.On(t, "hv-1", "sh", "-ec", "virsh dumpxml --inactive acc | sed \"s/<tag id='30'/<tag id='31'/\" >/tmp/acc.xml && virsh define /tmp/acc.xml && rm /tmp/acc.xml")
				},
				Config: node(trunk), ConfigPlanChecks: updates, Check: resource.ComposeTestCheckFunc(port(`trunks *: \[10, 30\]`), sameRun, func(*terraform.State) error {
					if got := acctest.On(t, "hv-1", "virsh", "dumpxml", "--inactive", "acc"); !strings.Contains(got, "<tag id='30'") {
						return fmt.Errorf("its configuration has other VLANs:\n%s", got)
					}
					return nil
				}),
			},
			{Config: node(""), PlanOnly: true}, // what is left out stays
			{Config: node(", virtual_port = \"openvswitch\", vlan = {}"), ConfigPlanChecks: updates, Check: resource.ComposeTestCheckFunc(port(`tag *: \[\]`, `trunks *: \[\]`), sameRun)},
			{Config: node(", virtual_port = \"openvswitch\", interface_id = \"c2177883-f1bb-47f0-914d-32a22e3a8805\""), PlanOnly: true, ExpectNonEmptyPlan: true},
			{ // drift
				PreConfig: func() {
					acctest.On(t, "hv-1", "sh", "-ec", "virsh dumpxml --inactive acc | sed \"s/"+portID+"/c2177883-f1bb-47f0-914d-32a22e3a8805/\" >/tmp/acc.xml && virsh define /tmp/acc.xml && rm /tmp/acc.xml")
				},
				Config: node(native), PlanOnly: true, ExpectNonEmptyPlan: true,
			},
		},
	})
}
