package nodes_test

import (
	"fmt"
	"os"
	"regexp"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// spread is a configuration of a node on the sandbox's own hypervisor, and of one on each of two further ones with a network of OVN over both; more
// is what follows it, and provider what the provider's block has besides.
func spread(machines []string, provider, more string) string {
	uris := ""
	for _, machine := range machines {
		uris += fmt.Sprintf("    %s = { uri = %q }\n", machine, acctest.HypervisorURI(machine))
	}
	text := fmt.Sprintf("provider \"virtcluster\" {\n  %s\n  ssh = { private_key_file = %q }\n  hypervisors = {\n%s  }\n}\n", provider, os.Getenv("SANDBOX_SSH_KEY"), uris)
	text += fmt.Sprintf(`
resource "virtcluster_ovn_network" "nodes" {
  ovn     = %q
  name    = "nodes"
  cidr    = "10.50.0.0/24"
  gateway = "10.50.0.1"
  dhcp    = { pool = ["10.50.0.100-10.50.0.199"] }
}
`, acctest.Endpoint(machines[0]))
	for n, place := range append([]string{""}, machines...) {
		on, network := "", ""
		if place != "" {
			on = fmt.Sprintf("hypervisor = %q", place)
			network = []string{"", `{ ovn_network = virtcluster_ovn_network.nodes.id, ip = "10.50.0.11" }`, `{ ovn_network = virtcluster_ovn_network.nodes.id }`}[n]
		}
		text += fmt.Sprintf(`
resource "virtcluster_storage_pool" "p%[1]d" {
  %[2]s
  name = "spread"
  path = "/var/lib/libvirt/spread"
}
resource "virtcluster_node" "n%[1]d" {
  %[2]s
  name               = "spread-%[1]d"
  role               = "worker"
  type               = "qemu"
  memory_mib         = 64
  running            = false
  root_disk          = { size_gib = 1, pool = virtcluster_storage_pool.p%[1]d.name }
  network_interfaces = [%[3]s]
}
`, n, on, network)
	}
	return text + more
}

// Nodes of all hypervisors are found, each with its own, and with the addresses that it has on a network of OVN, wherever that has its databases.
func TestAccNodesOfAllHypervisors(t *testing.T) {
	acctest.InSandbox(t)
	machines := acctest.StartOVN(t, 2)
	const after = "depends_on = [virtcluster_node.n0, virtcluster_node.n1, virtcluster_node.n2]"
	sources := fmt.Sprintf(`
data "virtcluster_nodes" "all" {
  ovn  = %[1]q
  role = "worker"
  %[2]s
}
data "virtcluster_nodes" "unasked" {
  %[2]s
}
data "virtcluster_nodes" "second" {
  hypervisor = "hv-2"
  %[2]s
}
`, acctest.Endpoint(machines[0]), after)
	has := func(source string, want map[string]string) resource.TestCheckFunc {
		var all []resource.TestCheckFunc
		for key, value := range want {
			if value == "" {
				all = append(all, resource.TestCheckNoResourceAttr("data.virtcluster_nodes."+source, key))
				continue
			}
			all = append(all, resource.TestMatchResourceAttr("data.virtcluster_nodes."+source, key, regexp.MustCompile("^(?:"+value+")$")))
		}
		return resource.ComposeTestCheckFunc(all...)
	}
	const drawn = `10\.50\.0\.1\d\d`
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			{Config: spread(machines, "", sources), Check: resource.ComposeTestCheckFunc(
				has("all", map[string]string{
					"nodes.#":      "3",
					"nodes.0.name": "spread-0", "nodes.0.hypervisor": "", "nodes.0.addresses.%": "0",
					"nodes.1.name": "spread-1", "nodes.1.hypervisor": "hv-1", "nodes.1.addresses.eth0": `10\.50\.0\.11`, "nodes.1.state": "shutoff",
					"nodes.2.name": "spread-2", "nodes.2.hypervisor": "hv-2", "nodes.2.addresses.eth0": drawn,
				}),
				has("unasked", map[string]string{"nodes.#": "3", "nodes.1.addresses.eth0": `10\.50\.0\.11`, "nodes.2.addresses.%": "0"}),
				has("second", map[string]string{"nodes.#": "1", "nodes.0.name": "spread-2", "nodes.0.hypervisor": "hv-2"}),
			)},
		},
	})
}

// A hypervisor that does not answer is an error, unless it is lost, or nobody wrote that it is there.
func TestAccNodesOfAHypervisorThatDoesNotAnswer(t *testing.T) {
	acctest.InSandbox(t)
	acctest.Hypervisors(t, 1)
	t.Setenv("LIBVIRT_DEFAULT_URI", "") // nobody writes which one is meant
	const here, aside = "/var/run/libvirt/libvirt-sock", "/var/run/libvirt/libvirt-sock-aside"
	config := func(provider, more string) string {
		return fmt.Sprintf("provider \"virtcluster\" {\n  %s\n  ssh = { private_key_file = %q }\n  hypervisors = {\n    hv-1 = { uri = %q }\n    %s\n  }\n}\n", provider, os.Getenv("SANDBOX_SSH_KEY"), acctest.HypervisorURI("hv-1"), more) +
			"data \"virtcluster_nodes\" \"all\" {}\n"
	}
	const gone = `qemu+unix:///system?socket=/nowhere`
	none := resource.TestCheckResourceAttr("data.virtcluster_nodes.all", "nodes.#", "0")
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			{Config: config("", fmt.Sprintf("gone = { uri = %q }", gone)), ExpectError: regexp.MustCompile(`(?s)Cannot\s+read\s+the\s+nodes.*/nowhere`)},
			{Config: config("", fmt.Sprintf("gone = { uri = %q, lost = true }", gone)), Check: none},
			{
				PreConfig: func() {
					if err := os.Rename(here, aside); err != nil {
						t.Fatal(err)
					}
					t.Cleanup(func() { _ = os.Rename(aside, here) })
				},
				Config: config("", ""), Check: none,
			},
			{Config: config(`uri = "qemu:///system"`, ""), ExpectError: regexp.MustCompile(`(?s)Cannot\s+read\s+the\s+nodes.*libvirt-sock`)},
		},
	})
}
