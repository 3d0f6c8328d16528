package ovnrouter_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// TestAccOVNRouterDrift has a person change what each attribute of a router and of a load balancer says: it shows there, and one apply mends all of it.
func TestAccOVNRouterDrift(t *testing.T) {
	acctest.InSandbox(t)
	acctest.Hypervisors(t, 1)
	acctest.StartOVNCentral(t, "hv-1")
	nb := acctest.Northbound(t, "hv-1")
	s := acctest.NewState(t)
	s.DestroyAtEnd()
	text := acctest.Provider() + fmt.Sprintf(`
locals { ovn = %q }
resource "virtcluster_ovn_network" "nodes" {
  ovn     = local.ovn
  name    = "nodes"
  cidr    = "10.50.0.0/24"
  gateway = "10.50.0.1"
}
resource "virtcluster_ovn_network" "dmz" {
  ovn       = local.ovn
  name      = "dmz"
  cidr      = "10.51.0.0/24"
  gateway   = "10.51.0.1"
  ipv6_cidr = "fd00:51::/64"
}
resource "virtcluster_ovn_router" "lab" {
  ovn      = local.ovn
  name     = "lab"
  networks = [virtcluster_ovn_network.nodes.name, virtcluster_ovn_network.dmz.name]
  snat     = true
  external = {
    bridge_mapping = "lan"
    address        = "10.19.41.200/24"
    gateway        = "10.19.41.254"
    chassis        = ["one", "two", "three"]
  }
  floating = {
    "10.19.41.201" = { inside = "10.50.0.11" }
    "10.19.41.202" = { inside = "10.50.0.12", distributed = true }
    "10.19.41.203" = { inside = "10.50.0.13" }
  }
  routes   = [{ cidr = "10.128.0.0/14", via = "10.50.0.11" }, { cidr = "10.132.0.0/14", via = "10.50.0.12" }]
  failover = { interval_ms = 200, multiplier = 3 }
}
resource "virtcluster_ovn_load_balancer" "web" {
  ovn          = local.ovn
  name         = "web"
  router       = virtcluster_ovn_router.lab.name
  vips         = { "10.50.0.100:80" = ["10.50.0.11:8080", "10.50.0.12:8080"], "10.50.0.100:443" = ["10.50.0.11:8443"] }
  health_check = { source = "10.50.0.250", interval_seconds = 3, timeout_seconds = 2, success_count = 4, failure_count = 5 }
}
`, acctest.Endpoint("hv-1"))
	networks, _, _ := strings.Cut(text, `resource "virtcluster_ovn_router"`)
	s.Apply(networks)
	// A guest, of which the distributed address and the health checks have to know the port.
	nb("lsp-add", "nodes", "g12", "--", "lsp-set-addresses", "g12", "02:00:00:00:00:12 10.50.0.12")
	t.Cleanup(func() {
		if out, err := acctest.Try(context.WithoutCancel(t.Context()), "hv-1", "ovn-nbctl", "--timeout=20", "lsp-del", "g12"); err != nil {
			t.Errorf("lsp-del: %v: %s", err, out)
		}
	})
	s.Apply(text)
	s.Settled()
	find := func(table string, where ...string) string {
		return nb(append([]string{"--bare", "--columns=_uuid", "find", table}, where...)...)
	}
	change := func(argv ...string) func() { return func() { nb(argv...) } }
	set := func(table string, where []string, what ...string) func() {
		return func() { nb(append([]string{"set", table, find(table, where...)}, what...)...) }
	}
	const lab = "virtcluster_ovn_router.lab"
	floating := func(outside string) []string { return []string{"type=dnat_and_snat", "external_ip=" + outside} }
	s.MendsDrift(lab,
		acctest.Drift{Name: "bridge mapping", Change: change("set", "Logical_Switch_Port", "lab-external-localnet", "options:network_name=other"), Shows: "external.bridge_mapping"},
		acctest.Drift{Name: "a chassis fewer", Change: change("ha-chassis-group-remove-chassis", "lab-external", "three"), Shows: "external.chassis"},
		acctest.Drift{Name: "the default route", Change: set("Logical_Router_Static_Route", []string{"ip_prefix=0.0.0.0/0"}, "nexthop=10.19.41.253"), Shows: "external.gateway"},
		acctest.Drift{Name: "another inside", Change: set("NAT", floating("10.19.41.201"), "logical_ip=10.50.0.99"), Shows: "floating.10.19.41.201.inside"},
		acctest.Drift{Name: "no chassis of the guest", Change: func() {
			nb("clear", "NAT", find("NAT", floating("10.19.41.202")...), "logical_port", "external_mac")
		}, Shows: "floating.10.19.41.202.distributed"},
		acctest.Drift{Name: "a floating address is gone", Change: change("lr-nat-del", "lab", "dnat_and_snat", "10.19.41.203"), Shows: "floating.10.19.41.203"},
		acctest.Drift{Name: "snat", Change: change("lr-nat-del", "lab", "snat", "10.50.0.0/24"), Shows: "snat"},
		acctest.Drift{Name: "a route", Change: set("Logical_Router_Static_Route", []string{"ip_prefix=10.128.0.0/14"}, "nexthop=10.50.0.99"), Shows: "routes"},
		acctest.Drift{Name: "interval", Change: change("set", "NB_Global", ".", "options:bfd-min-rx=1000"), Shows: "failover.interval_ms"},
		acctest.Drift{Name: "multiplier", Change: change("set", "NB_Global", ".", "options:bfd-mult=9"), Shows: "failover.multiplier"},
		acctest.Drift{Name: "its address on a network", Change: change("set", "Logical_Router_Port", "lab-dmz", "networks=10.51.0.9/24"), Shows: "networks"},
		acctest.Drift{Name: "its address outside", Change: change("set", "Logical_Router_Port", "lab-external", "networks=10.19.41.222/24"), Shows: "external.address"},
	)
	for _, d := range []acctest.Drift{
		{Name: "the order of chassis", Change: set("HA_Chassis", []string{"chassis_name=three"}, "priority=9"), Shows: "external.chassis"},
		{Name: "no group of chassis", Change: change("clear", "Logical_Router_Port", "lab-external", "ha_chassis_group"), Shows: "external.chassis"},
		{Name: "a route is gone", Change: change("lr-route-del", "lab", "10.128.0.0/14"), Shows: "routes"},
		{Name: "no default route", Change: change("lr-route-del", "lab", "0.0.0.0/0"), Shows: "external.gateway"},
		{Name: "what is sent", Change: change("set", "NB_Global", ".", "options:bfd-min-tx=1000"), Shows: "failover.interval_ms"},
		{Name: "another port of the guest", Change: set("NAT", floating("10.19.41.202"), "logical_port=other"), Shows: "floating.10.19.41.202"},
		{Name: "a network that leads elsewhere", Change: change("lsp-del", "nodes-lab"), Shows: "networks floating.10.19.41.202"},
		{Name: "what IPv6 is told", Change: change("clear", "Logical_Router_Port", "lab-dmz", "ipv6_ra_configs"), Shows: "networks"},
		{Name: "no way out", Change: change("lsp-del", "lab-external-lab"), Shows: "external snat routes"},
	} {
		s.MendsDrift(lab, d)
	}

	const web = "virtcluster_ovn_load_balancer.web"
	check := func(what string) func() {
		return func() {
			nb("set", "Load_Balancer_Health_Check", find("Load_Balancer_Health_Check", `vip="10.50.0.100:443"`), "options:"+what)
		}
	}
	all := func(what string) func() {
		return func() {
			for _, vip := range []string{"80", "443"} {
				nb("set", "Load_Balancer_Health_Check", find("Load_Balancer_Health_Check", `vip="10.50.0.100:`+vip+`"`), "options:"+what)
			}
		}
	}
	s.MendsDrift(web,
		acctest.Drift{Name: "protocol", Change: change("set", "Load_Balancer", "web", "protocol=udp"), Shows: "protocol"},
		acctest.Drift{Name: "a backend fewer", Change: change("set", "Load_Balancer", "web", `vips:"10.50.0.100:80"="10.50.0.12:8080"`), Shows: "vips.10.50.0.100:80"},
		acctest.Drift{Name: "another VIP", Change: change("set", "Load_Balancer", "web", `vips:"10.50.0.100:81"="10.50.0.12:8080"`), Shows: "vips.10.50.0.100:81 health_check"},
	)
	for _, d := range []acctest.Drift{
		{Name: "interval", Change: all("interval=9"), Shows: "health_check.interval_seconds"},
		{Name: "timeout", Change: all("timeout=9"), Shows: "health_check.timeout_seconds"},
		{Name: "successes", Change: all("success_count=9"), Shows: "health_check.success_count"},
		{Name: "failures", Change: all("failure_count=9"), Shows: "health_check.failure_count"},
		{Name: "one address asks another way", Change: check("interval=9"), Shows: "health_check"},
		{Name: "nobody asks", Change: change("clear", "Load_Balancer", "web", "health_check"), Shows: "health_check"},
		{Name: "a guest is asked by nobody", Change: change("remove", "Load_Balancer", "web", "ip_port_mappings", "10.50.0.12"), Shows: "health_check.source"},
		{Name: "not on its router", Change: change("lr-lb-del", "lab", "web"), Shows: "router"},
		{Name: "not on a network of it", Change: change("ls-lb-del", "nodes", "web"), Shows: "router"},
		{Name: "gone", Change: change("lb-del", "web"), Shows: "made"},
	} {
		s.MendsDrift(web, d)
	}
	s.MendsDrift(lab, acctest.Drift{Name: "gone", Change: change("lr-del", "lab"), Shows: "made"})
}
