package ovnnetwork_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// nodeAway is a configuration of a network of OVN and of a node on it, on a hypervisor; engine is the OVN that the plan has, "" for none.
func nodeAway(hypervisor, engine string) string {
	ovn := fmt.Sprintf("%q", acctest.Endpoint("hv-1"))
	if engine != "" {
		ovn = "virtcluster_ovn.it.id"
	}
	return fmt.Sprintf(`
provider "virtcluster" {
  ssh = { private_key_file = %[1]q }
  hypervisors = {
    hv-1 = { uri = %[2]q }
    hv-2 = { uri = %[3]q }
  }
}
%[4]s
resource "virtcluster_ovn_network" "nodes" {
  ovn     = %[5]s
  name    = "nodes"
  cidr    = "10.50.0.0/24"
  gateway = "10.50.0.1"
  dhcp    = {}
}
resource "virtcluster_storage_pool" "it" {
  hypervisor = %[6]q
  name       = "away"
  path       = "/var/lib/libvirt/away"
}
resource "virtcluster_node" "it" {
  hypervisor         = %[6]q
  name               = "away"
  type               = "qemu"
  memory_mib         = 64
  running            = false
  root_disk          = { size_gib = 1, pool = virtcluster_storage_pool.it.name }
  network_interfaces = [{ ovn_network = virtcluster_ovn_network.nodes.id, ip = "10.50.0.11" }]
}
`, os.Getenv("SANDBOX_SSH_KEY"), acctest.HypervisorURI("hv-1"), acctest.HypervisorURI("hv-2"), engine, ovn, hypervisor)
}

// A node on a network of OVN whose hypervisor is no chassis of it is refused: by the OVN of the plan, and by what the database has.
func TestAccNodeOnOVNOfAHypervisorThatIsNoChassis(t *testing.T) {
	acctest.InSandbox(t)
	acctest.Hypervisors(t, 2)
	refused := func(config, want string) resource.TestStep {
		return resource.TestStep{Config: config, PlanOnly: true, ExpectError: regexp.MustCompile(strings.ReplaceAll(want, " ", `[\s│]+`))}
	}
	engine := func(hypervisor string) string {
		return fmt.Sprintf(`
resource "virtcluster_ovn" "it" {
  central      = [%[1]q]
  datapath     = "userspace"
  underlay_mtu = 1500
  chassis      = { one = { endpoint = %[1]q, tunnel_ip = "172.16.0.11"%[2]s } }
}
`, acctest.Endpoint("hv-1"), hypervisor)
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			refused(nodeAway("hv-2", engine(`, hypervisor = "hv-1"`)), `hypervisor "hv-2" is no chassis of OVN of \S+ whose chassis are "one" on hypervisor "hv-1"`),
			{Config: nodeAway("hv-1", engine(`, hypervisor = "hv-1"`)), PlanOnly: true, ExpectNonEmptyPlan: true},
			{Config: nodeAway("hv-2", engine("")), PlanOnly: true, ExpectNonEmptyPlan: true}, // it may be hv-2 by another address
			{PreConfig: func() { acctest.StartOVN(t, 1) }, Config: nodeAway("hv-1", "")},
			refused(nodeAway("hv-2", ""), `hypervisor "hv-2", which calls itself hv-2, is no chassis of OVN of \S+ whose chassis are hv-1`),
		},
	})
}
