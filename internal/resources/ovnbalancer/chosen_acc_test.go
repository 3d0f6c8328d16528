package ovnbalancer_test

import (
	"fmt"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// A plan of chosen resources is compared with what was not chosen, too, which stays as it is; and an address where a load balancer of another state listens, or
// that a router of another state has, is refused to routers and networks at plan.
func TestAccOVNLoadBalancerBesideWhatIsNotOfThePlan(t *testing.T) {
	acctest.InSandbox(t)
	acctest.Hypervisors(t, 1)
	acctest.StartOVNCentral(t, "hv-1")
	const web, second = "virtcluster_ovn_load_balancer.web", "virtcluster_ovn_load_balancer.second"
	balancers := func(at, secondAt string) string {
		return acctest.Provider() + fmt.Sprintf(`
locals { ovn = %[1]q }
resource "virtcluster_ovn_network" "nodes" {
  ovn     = local.ovn
  name    = "nodes"
  cidr    = "10.50.0.0/24"
  gateway = "10.50.0.1"
}
resource "virtcluster_ovn_router" "lab" {
  ovn      = local.ovn
  name     = "lab"
  networks = [virtcluster_ovn_network.nodes.name]
  external = { bridge_mapping = "lan", address = "10.19.41.200/24", chassis = ["any"] }
  floating = { "10.19.41.201" = { inside = "10.50.0.11" } }
}
resource "virtcluster_ovn_load_balancer" "web" {
  ovn    = local.ovn
  name   = "web"
  router = virtcluster_ovn_router.lab.name
  vips   = { %[2]q = ["10.50.0.11:8080"], "10.19.41.210:80" = ["10.50.0.11:8080"] }
}
resource "virtcluster_ovn_load_balancer" "second" {
  ovn    = local.ovn
  name   = "second"
  router = virtcluster_ovn_router.lab.name
  vips   = { %[3]q = ["10.50.0.12:8080"] }
}
`, acctest.Endpoint("hv-1"), at, secondAt)
	}
	s := acctest.NewState(t)
	s.DestroyAtEnd()
	s.Apply(balancers("10.50.0.100:80", "10.50.0.100:81"))
	s.Settled()
	s.Write(balancers("10.50.0.100:81", "10.50.0.100:81"))
	s.Refused([]string{"listens at 10.50.0.100:81 on router \"lab\" already"}, "plan")
	s.Refused([]string{`load balancer "second" listens at 10.50.0.100:81 on router "lab" already`, "with " + web}, "plan", "-target="+web)
	s.Refused([]string{`load balancer "second" listens at 10.50.0.100:81 on router "lab" already`}, "plan", "-target="+web, "-refresh=false")
	s.Write(balancers("10.50.0.100:81", "10.50.0.100:82"))
	s.Refused([]string{`load balancer "second" listens at 10.50.0.100:81 on router "lab" already`}, "plan", "-target="+web)
	s.Run("apply", "-auto-approve", "-target="+web, "-target="+second) // one gives up what the other one takes
	s.Settled()

	router := func(address, more string) string {
		return acctest.Provider() + fmt.Sprintf(`
resource "virtcluster_ovn_router" "theirs" {
  ovn      = %q
  name     = "theirs"
  external = { bridge_mapping = "lan", address = "%s/24", chassis = ["any"] }
  %s
}
`, acctest.Endpoint("hv-1"), address, more)
	}
	lan := func(gateway string) string {
		return router("10.19.41.220", "") + fmt.Sprintf(`
resource "virtcluster_ovn_network" "lan" {
  ovn            = %q
  name           = "lan"
  mode           = "bridge"
  bridge_mapping = "lan"
  cidr           = "10.19.41.0/24"
  gateway        = %q
}
`, acctest.Endpoint("hv-1"), gateway)
	}
	other := acctest.NewState(t)
	other.DestroyAtEnd()
	const listens = `load balancer "web" of router "lab" listens at 10.19.41.210:80 already`
	for _, refused := range []struct{ config, says string }{
		{router("10.19.41.200", ""), `external.address: router "lab" has 10.19.41.200 on network "lan" of the chassis already`},
		{router("10.19.41.201", ""), `external.address: router "lab" has 10.19.41.201`},
		{router("10.19.41.210", ""), "external.address: " + listens},
		{router("10.19.41.220", `floating = { "10.19.41.210" = { inside = "10.50.0.11" } }`), listens},
		{router("10.19.41.220", `floating = { "10.19.41.201" = { inside = "10.50.0.11" } }`), `router "lab" has 10.19.41.201`},
		{lan("10.19.41.210"), listens},
		{lan("10.19.41.201"), `router "lab" has 10.19.41.201`},
	} {
		other.Write(refused.config)
		other.Refused([]string{refused.says}, "plan")
	}
	other.Apply(lan("10.19.41.200")) // the address of a router is a gateway
	other.Settled()
	s.Settled()
}
