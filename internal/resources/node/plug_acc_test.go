package node_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// What cannot be plugged in is found before anything is changed.
func TestAccNodeChangesNothingForAnInterfaceThatIsRefused(t *testing.T) {
	_, network, image := stage(t, "nodecard")
	stopped := "\nresource \"virtcluster_network\" \"s\" {\n  name = \"refused\"\n  mode = \"isolated\"\n  active = false\n}\n"
	node := func(memory, more string) string {
		return strings.Replace(config(image, network, "  max_memory_mib = 256\n"+more), "memory_mib       = 128", "memory_mib       = "+memory, 1) + stopped
	}
	with := func(more string) string {
		return node("192", "  disks = { data = { size_gib = 1 } }\n  network_interfaces = [{ network = \"NET\" }, { "+more+" }]\n")
	}
	refused := func(config, want string) resource.TestStep {
		return resource.TestStep{Config: config, ExpectError: regexp.MustCompile(strings.ReplaceAll(want, " ", `\s+`))}
	}
	var before string
	state := func() string {
		return virsh(t, "dumpxml", "acc") + virsh(t, "dumpxml", "--inactive", "acc") + virsh(t, "vol-list", "nodecard")
	}
	same := resource.TestStep{Config: node("128", oneInterface), Check: func(*terraform.State) error {
		if after := state(); before != "" && after != before {
			t.Errorf("a refused change changed the node:\n%s\nand was\n%s", after, before)
		}
		before = state()
		return nil
	}}
	taken := refused(with(`network = "NET"`), `disks\["data"\]: volume acc-data.qcow2 is in storage pool nodecard already, and this provider did not write it`)
	taken.PreConfig = func() { virsh(t, "vol-create-as", "nodecard", "acc-data.qcow2", "1M") }
	taken.ConfigPlanChecks.PreApply = []plancheck.PlanCheck{plancheck.ExpectKnownValue(address, tfjsonpath.New("disks").AtMapKey("data").AtMapKey("pool"), knownvalue.StringExact("nodecard"))}
	const card = `network_interfaces\[[01]\].model: hypervisor \S+ starts no machine with a network card "nosuch": write model = "virtio"`
	bad := with(`network = "NET", model = "nosuch"`)
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			taken,
			{PreConfig: func() { virsh(t, "vol-delete", "acc-data.qcow2", "nodecard") }, Config: bad, ExpectError: refused(bad, card).ExpectError},
			same,
			refused(bad, card),
			refused(with(`network = virtcluster_network.s.name`), `network_interfaces\[1\].network: network "refused" of hypervisor \S+ is stopped.*write active = true`),
			same,
		},
	})
}
