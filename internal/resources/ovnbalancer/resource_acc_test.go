package ovnbalancer_test

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

const name = "virtcluster_ovn_load_balancer.web"

// config is OVN on two hypervisors with a network and a load balancer that have something more, and a router.
func config(network, extra string) string {
	return acctest.Provider() + fmt.Sprintf(`
resource "virtcluster_ovn" "lab" {
  central      = [%[1]q]
  datapath     = "userspace"
  underlay_mtu = 1500
  chassis = {
    hv1 = { endpoint = %[1]q, tunnel_ip = "172.16.0.11" }
    hv2 = { endpoint = %[2]q, tunnel_ip = "172.16.0.12" }
  }
}
resource "virtcluster_ovn_network" "nodes" {
  ovn     = virtcluster_ovn.lab.id
  name    = "nodes"
  cidr    = "10.50.0.0/24"
  gateway = "10.50.0.1"
  %[3]s
}
resource "virtcluster_ovn_router" "lab" {
  ovn      = virtcluster_ovn.lab.id
  name     = "lab"
  networks = [virtcluster_ovn_network.nodes.name]
}
resource "virtcluster_ovn_load_balancer" "web" {
  ovn    = virtcluster_ovn.lab.id
  name   = "web"
  router = virtcluster_ovn_router.lab.name
  %[4]s
}
`, acctest.Endpoint("hv-1"), acctest.Endpoint("hv-2"), network, extra)
}

// dmz is another network, for the router of config.
const dmz = `
resource "virtcluster_ovn_network" "dmz" {
  ovn     = virtcluster_ovn.lab.id
  name    = "dmz"
  cidr    = "10.51.0.0/24"
  gateway = "10.51.0.1"
}
`

// answers waits until a guest gets an answer at an address from each of those who are to give one.
func answers(address string, want ...string) resource.TestCheckFunc {
	return func(*terraform.State) error {
		seen := map[string]bool{}
		for end := time.Now().Add(20 * time.Second); time.Now().Before(end); {
			out, _ := acctest.Try(context.Background(), "hv-1", "ip", "netns", "exec", "client", "timeout", "2", "socat", "-", "TCP:"+address+",connect-timeout=1")
			seen[strings.TrimSpace(out)] = true
			missing := 0
			for _, name := range want {
				if !seen[name] {
					missing++
				}
			}
			if missing == 0 {
				return nil
			}
		}
		return fmt.Errorf("%s was answered by %v, want %v", address, seen, want)
	}
}

// onlyAnswer waits until a guest gets 20 answers in a row at an address, all of them from one.
func onlyAnswer(address, want string) resource.TestCheckFunc {
	return func(*terraform.State) error {
		row := 0
		for end := time.Now().Add(30 * time.Second); time.Now().Before(end); {
			out, _ := acctest.Try(context.Background(), "hv-1", "ip", "netns", "exec", "client", "timeout", "2", "socat", "-", "TCP:"+address+",connect-timeout=1")
			if row++; strings.TrimSpace(out) != want {
				row = 0
			}
			if row == 20 {
				return nil
			}
		}
		return fmt.Errorf("%s was not answered by %s alone", address, want)
	}
}

func TestAccOVNLoadBalancerLife(t *testing.T) {
	acctest.InSandbox(t)
	acctest.Hypervisors(t, 2)
	nb := acctest.Northbound(t, "hv-1")
	start := func(hypervisor, guest, number string) {
		nb("lsp-add", "nodes", guest, "--", "lsp-set-addresses", guest, "02:00:00:00:00:"+number+" 10.50.0."+number)
		acctest.StartOVNGuest(t, hypervisor, guest, "02:00:00:00:00:"+number, "10.50.0."+number, "10.50.0.1")
		acctest.On(t, hypervisor, "systemd-run", "--quiet", "--collect", "--unit=web-"+guest, "ip", "netns", "exec", guest, "socat", "TCP-LISTEN:8080,fork,reuseaddr", "SYSTEM:echo "+guest)
		t.Cleanup(func() { _, _ = acctest.Try(context.Background(), hypervisor, "systemctl", "stop", "web-"+guest) })
	}
	const both = `vips = { "10.50.0.100:80" = ["10.50.0.11:8080", "10.50.0.12:8080"] }`
	const asking = both + "\n  health_check = { source = \"10.50.0.250\", interval_seconds = 1, timeout_seconds = 1 }"
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			{Config: config("", both)},
			{ // its own network reaches it, at another port than its backends'
				PreConfig: func() {
					start("hv-1", "w1", "11")
					start("hv-2", "w2", "12")
					start("hv-1", "client", "13")
					nb("--wait=hv", "sync")
				},
				Config: config("", both), Check: answers("10.50.0.100:80", "w1", "w2"),
			},
			{ResourceName: name, ImportState: true, ImportStateVerify: true},
			{ // a network can be changed beside it
				Config: config("dhcp = { lease_seconds = 600 }", both), Check: answers("10.50.0.100:80", "w1", "w2"),
			},
			{ // another network of the router has it with that, and no more once it is another's
				Config: strings.Replace(config("", both), "[virtcluster_ovn_network.nodes.name]", "[virtcluster_ovn_network.nodes.name, virtcluster_ovn_network.dmz.name]", 1) + dmz,
				Check: func(*terraform.State) error {
					if listed := nb("ls-lb-list", "dmz"); !strings.Contains(listed, "web") {
						return fmt.Errorf("on network dmz: %q", listed)
					}
					return nil
				},
			},
			{
				Config: config("", both) + dmz, Check: func(*terraform.State) error {
					if listed := nb("ls-lb-list", "dmz"); strings.Contains(listed, "web") {
						return fmt.Errorf("on network dmz: %q", listed)
					}
					return nil
				},
			},
			{Config: config("", `vips = { "10.50.0.100:81" = ["10.50.0.12:8080"] }`), Check: answers("10.50.0.100:81", "w2")},
			{ // who does not answer is led to no more
				PreConfig: func() { acctest.On(t, "hv-1", "systemctl", "stop", "web-w1") },
				Config:    config("", asking), Check: resource.ComposeTestCheckFunc(onlyAnswer("10.50.0.100:80", "w2"), resource.TestCheckResourceAttr(name, "health_check.failure_count", "2")),
			},
			{ResourceName: name, ImportState: true, ImportStateVerify: true},
			{ // a guest that nobody asks shows
				PreConfig: func() { nb("remove", "Load_Balancer", "web", "ip_port_mappings", "10.50.0.12") }, RefreshState: true, ExpectNonEmptyPlan: true,
				Check: resource.TestCheckNoResourceAttr(name, "health_check.source"),
			},
			{
				PreConfig: func() {
					acctest.On(t, "hv-1", "systemd-run", "--quiet", "--collect", "--unit=web-w1", "ip", "netns", "exec", "w1", "socat", "TCP-LISTEN:8080,fork,reuseaddr", "SYSTEM:echo w1")
				},
				Config: config("", asking), Check: answers("10.50.0.100:80", "w1", "w2"),
			},
			{
				PreConfig: func() { nb("ls-lb-del", "nodes", "web") }, RefreshState: true, ExpectNonEmptyPlan: true,
				Check: resource.TestCheckNoResourceAttr(name, "router"),
			},
			{Config: config("", both), Check: answers("10.50.0.100:80", "w1", "w2")},
			{Config: config("", `vips = { "10.50.0.12:80" = ["10.50.0.11:8080"] }`), PlanOnly: true, ExpectError: regexp.MustCompile(`port "w2" has 10\.50\.0\.12`)},
			{Config: config("", strings.Replace(asking, "10.50.0.250", "10.50.0.1", 1)), PlanOnly: true, ExpectError: regexp.MustCompile("gateway of network")},
			{
				PreConfig: func() {
					for guest, hypervisor := range map[string]string{"w1": "hv-1", "w2": "hv-2", "client": "hv-1"} {
						acctest.StopOVNGuest(hypervisor, guest)
						nb("lsp-del", guest)
					}
				},
				Config: config("", both), PlanOnly: true,
			},
			{Config: config("", `vips = { "10.50.0.100:80" = ["10.50.0.100:8080"] }`), PlanOnly: true, ExpectError: regexp.MustCompile("Load balancer in front of itself")},
		},
	})
}

// A guest that would not answer is known before any of it is there.
func TestAccOVNLoadBalancerOfAPlanThatCannotBe(t *testing.T) {
	acctest.InSandbox(t)
	acctest.Hypervisors(t, 2)
	const way = `networks = [virtcluster_ovn_network.nodes.name]
  external = { bridge_mapping = "lan", address = "10.19.41.200/24", chassis = ["any"] }
  floating = { "10.19.41.201" = { inside = "10.50.0.11", distributed = true } }`
	plan := func(vip string) string {
		c := strings.Replace(config("", fmt.Sprintf(`vips = { %q = ["10.50.0.11:8080"] }`, vip)), "networks = [virtcluster_ovn_network.nodes.name]", way, 1)
		return strings.ReplaceAll(c, "virtcluster_ovn.lab.id", strconv.Quote(acctest.Endpoint("hv-1")))
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			{Config: plan("10.50.0.100:80"), PlanOnly: true, ExpectNonEmptyPlan: true},
			{Config: plan("10.19.41.210:80"), PlanOnly: true, ExpectError: regexp.MustCompile(`Load balancer that would not work[\s\S]*distributed\s+=\s+false`)},
		},
	})
}
