package ovnbalancer_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// An address that a router, its networks, a floating address or another load balancer has is refused: at plan, with what the plan will have and with what
// others have there.
func TestAccOVNLoadBalancerAtAnAddressThatSomebodyHas(t *testing.T) {
	acctest.InSandbox(t)
	acctest.StartOVN(t, 1)
	nb := acctest.Northbound(t, "hv-1")
	taken := func(vip, more string) string {
		return acctest.Provider() + fmt.Sprintf(`
locals { ovn = %[1]q }
resource "virtcluster_ovn_network" "nodes" {
  ovn     = local.ovn
  name    = "nodes"
  cidr    = "10.50.0.0/24"
  gateway = "10.50.0.1"
}
resource "virtcluster_ovn_network" "dmz" {
  ovn     = local.ovn
  name    = "dmz"
  cidr    = "10.51.0.0/24"
  gateway = "10.51.0.1"
}
resource "virtcluster_ovn_router" "lab" {
  ovn      = local.ovn
  name     = "lab"
  networks = [virtcluster_ovn_network.nodes.name, virtcluster_ovn_network.dmz.name]
  external = { bridge_mapping = "lan", address = "10.19.41.200/24", chassis = ["any"] }
  floating = { "10.19.41.201" = { inside = "10.50.0.11" } }
}
resource "virtcluster_ovn_load_balancer" "web" {
  ovn    = local.ovn
  name   = "web"
  router = virtcluster_ovn_router.lab.name
  vips   = { %[2]q = ["10.50.0.11:8080"] }
}
%[3]s
`, acctest.Endpoint("hv-1"), vip, more)
	}
	refused := func(vip, more, want string) resource.TestStep {
		return resource.TestStep{Config: taken(vip, more), PlanOnly: true, ExpectError: regexp.MustCompile(strings.ReplaceAll(want, " ", `[\s│]+`))}
	}
	const second = `
resource "virtcluster_ovn_load_balancer" "second" {
  ovn    = local.ovn
  name   = "second"
  router = virtcluster_ovn_router.lab.name
  vips   = { "10.50.0.100:80" = ["10.50.0.12:8080"], "10.50.0.100:443" = ["10.50.0.12:8443"] }
}
`
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			refused("10.51.0.1:80", "", `10.51.0.1 is the gateway of network "dmz", which router "lab" has`),
			refused("10.19.41.201:80", "", `10.19.41.201 is a floating address of router "lab", which leads to 10.50.0.11`),
			refused("10.50.0.100:80", second, `load balancer "(second|web)" listens at 10.50.0.100:80 on router "lab" already`),
			{Config: taken("10.50.0.100:81", second)}, // at another port of one address
			refused("10.50.0.100:80", second, `load balancer "(second|web)" listens at 10.50.0.100:80 on router "lab" already`),
			{ // one gives up what another one takes, in one apply
				Config: taken("10.50.0.100:80", strings.Replace(second, "10.50.0.100:80", "10.50.0.100:81", 1)),
			},
			{
				PreConfig: func() {
					nb("lb-add", "persons", "10.50.0.102:80", "10.50.0.13:80", "--", "lr-lb-add", "lab", "persons")
					nb("lr-add", "theirs", "--", "lrp-add", "theirs", "theirs-nodes", "0a:00:00:00:00:99", "10.50.0.2/24", "--",
						"lsp-add", "nodes", "nodes-theirs", "--", "lsp-set-type", "nodes-theirs", "router", "--", "lsp-set-addresses", "nodes-theirs", "router", "--", "lsp-set-options", "nodes-theirs", "router-port=theirs-nodes")
				},
				Config: taken("10.50.0.102:80", ""), PlanOnly: true, ExpectError: regexp.MustCompile(`load[\s│]+balancer[\s│]+"persons"[\s│]+listens`),
			},
			refused("10.50.0.2:80", "", `router "theirs" has 10.50.0.2 on network "nodes"`),
			refused("10.19.41.200:80", "", `10.19.41.200 is the address of router "lab" on network "lan" of the chassis`),
			{
				PreConfig: func() {
					nb("lsp-del", "nodes-theirs", "--", "lr-del", "theirs", "--", "lb-del", "persons")
				},
				Config: taken("10.50.0.100:80", ""),
			},
		},
	})
}
