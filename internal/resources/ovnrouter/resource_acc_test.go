package ovnrouter_test

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

const name = "virtcluster_ovn_router.lab"

// config is OVN on two hypervisors with two networks, and a router that has extra.
func config(extra string) string {
	return acctest.Provider() + fmt.Sprintf(`
resource "virtcluster_ovn" "lab" {
  central      = [%[1]q]
  datapath     = "userspace"
  underlay_mtu = 1500
  chassis = {
    hv1 = { endpoint = %[1]q, tunnel_ip = "172.16.0.11", bridge_mappings = { lan = "br-ex" } }
    hv2 = { endpoint = %[2]q, tunnel_ip = "172.16.0.12", bridge_mappings = { lan = "br-ex" } }
  }
}
resource "virtcluster_ovn_network" "nodes" {
  ovn     = virtcluster_ovn.lab.id
  name    = "nodes"
  cidr    = "10.50.0.0/24"
  gateway = "10.50.0.1"
}
resource "virtcluster_ovn_network" "dmz" {
  ovn     = virtcluster_ovn.lab.id
  name    = "dmz"
  cidr    = "10.51.0.0/24"
  gateway = "10.51.0.1"
}
resource "virtcluster_ovn_router" "lab" {
  ovn  = virtcluster_ovn.lab.id
  name = "lab"
  %[3]s
}
`, acctest.Endpoint("hv-1"), acctest.Endpoint("hv-2"), extra)
}

const both = `networks = [virtcluster_ovn_network.nodes.name, virtcluster_ovn_network.dmz.name]
`

const outside = both + `
  external = {
    bridge_mapping = "lan"
    address        = "10.19.41.200/24"
    gateway        = "10.19.41.254"
    chassis        = [virtcluster_ovn.lab.chassis["hv1"].id]
  }
`

// onLAN gives so many hypervisors a bridge of Open vSwitch with their cable to the LAN in it.
func onLAN(t *testing.T, many int) {
	t.Helper()
	for _, hv := range acctest.Hypervisors(t, many) {
		acctest.StartSwitch(t, hv)
		acctest.On(t, hv, "sh", "-ec", "ovs-vsctl --may-exist add-br br-ex -- set Bridge br-ex datapath_type=netdev fail_mode=standalone -- --may-exist add-port br-ex eth1; ip link set br-ex up")
	}
}

// reaches waits until a namespace of a machine reaches an address, or does not, where want is false. A neighbour that has missed a chassis' word of whose an
// address is now believes the one before for up to a minute.
func reaches(machine, namespace, address string, want bool) error {
	argv := []string{"ping", "-q", "-c", "1", "-W", "1", address}
	if namespace != "" {
		argv = append([]string{"ip", "netns", "exec", namespace}, argv...)
	}
	var out string
	var err error
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		if out, err = acctest.Try(context.Background(), machine, argv...); (err == nil) == want {
			return nil
		}
	}
	return fmt.Errorf("%s %s to %s, reached %t: %w: %s", machine, namespace, address, !want, err, out)
}

func TestAccOVNRouterLife(t *testing.T) {
	acctest.InSandbox(t)
	onLAN(t, 2)
	nb := acctest.Northbound(t, "hv-1")
	ping := func(checks ...func() error) resource.TestCheckFunc {
		return func(*terraform.State) error {
			for _, check := range checks {
				if err := check(); err != nil {
					return err
				}
			}
			return nil
		}
	}
	across := func() error { return reaches("hv-1", "g1", "10.51.0.12", true) }
	out := func(want bool) func() error {
		return func() error { return reaches("hv-2", "g2", "10.19.41.50", want) }
	}
	in := func(want bool) func() error {
		return func() error { return reaches("lan-client", "", "10.19.41.201", want) }
	}
	whole := config(outside + "  snat = true\n  floating = { \"10.19.41.201\" = { inside = \"10.50.0.11\" } }\n  routes = [{ cidr = \"10.128.0.0/14\", via = \"10.50.0.11\" }]")
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		CheckDestroy: func(*terraform.State) error {
			if out, err := acctest.Try(context.Background(), "hv-1", "systemctl", "is-active", "ovn-ovsdb-server-nb"); err == nil {
				return fmt.Errorf("OVN runs: %s", out)
			}
			return nil
		},
		Steps: []resource.TestStep{
			{Config: config(both)},
			{ // guests of two networks on two hypervisors
				PreConfig: func() {
					nb("lsp-add", "nodes", "g1", "--", "lsp-set-addresses", "g1", "02:00:00:00:00:11 10.50.0.11", "--", "lsp-add", "dmz", "g2", "--", "lsp-set-addresses", "g2", "02:00:00:00:00:12 10.51.0.12")
					acctest.StartOVNGuest(t, "hv-1", "g1", "02:00:00:00:00:11", "10.50.0.11", "10.50.0.1")
					acctest.StartOVNGuest(t, "hv-2", "g2", "02:00:00:00:00:12", "10.51.0.12", "10.51.0.1")
					nb("--wait=hv", "sync")
				},
				Config: config(both), Check: ping(across, out(false)),
			},
			{Config: config(outside), Check: ping(across, out(false))}, // the LAN knows no way back
			{Config: whole, Check: ping(across, out(true), in(true))},
			{ResourceName: name, ImportState: true, ImportStateVerify: true},
			{ // what a person changes shows, and is mended
				PreConfig: func() { nb("lr-nat-del", "lab", "dnat_and_snat", "10.19.41.201") }, RefreshState: true, ExpectNonEmptyPlan: true,
				Check: resource.TestCheckResourceAttr(name, "floating.%", "0"),
			},
			{ // a port that a person gives the router stays
				PreConfig: func() { nb("lrp-add", "lab", "persons", "0a:00:00:00:00:99", "10.99.0.1/24") },
				Config:    whole, Check: ping(in(true), func() error {
					if shown := nb("lrp-list", "lab"); !strings.Contains(shown, "persons") {
						return fmt.Errorf("a person's port is gone: %s", shown)
					}
					nb("lrp-del", "persons")
					return nil
				}),
			},
			{ // so does what it translates for a person, which no plan shows
				PreConfig: func() {
					nb("lr-nat-add", "lab", "snat", "10.19.41.222", "10.99.0.0/24")
					nb("lr-nat-add", "lab", "dnat", "10.19.41.223", "10.51.0.12")
				},
				Config: whole, PlanOnly: true,
			},
			{
				Config: strings.Replace(whole, "floating = {", "floating = { \"10.19.41.202\" = { inside = \"10.51.0.12\" },", 1), Check: ping(in(true), func() error {
					if shown := nb("lr-nat-list", "lab"); !strings.Contains(shown, "10.19.41.202") || !strings.Contains(shown, "10.99.0.0/24") || !strings.Contains(shown, "10.19.41.223") {
						return fmt.Errorf("it translates: %s", shown)
					}
					return nil
				}),
			},
			{Config: whole, Destroy: true, ExpectError: regexp.MustCompile(`translates\s+by\s+2\s+rows\s+that\s+are\s+not\s+its\s+own`)},
			{
				Config: whole, Check: ping(func() error {
					if shown := nb("lr-nat-list", "lab"); strings.Contains(shown, "10.19.41.202") || !strings.Contains(shown, "10.99.0.0/24") || !strings.Contains(shown, "10.19.41.223") {
						return fmt.Errorf("it translates: %s", shown)
					}
					nb("lr-nat-del", "lab", "snat", "10.99.0.0/24")
					nb("lr-nat-del", "lab", "dnat", "10.19.41.223")
					return nil
				}),
			},
			{
				PreConfig: func() { nb("lsp-del", "dmz-lab") }, RefreshState: true, ExpectNonEmptyPlan: true,
				Check: resource.TestCheckResourceAttr(name, "networks.#", "1"),
			},
			{
				PreConfig: func() { nb("lr-route-del", "lab", "10.128.0.0/14") }, RefreshState: true, ExpectNonEmptyPlan: true,
				Check: resource.TestCheckResourceAttr(name, "routes.#", "0"),
			},
			{Config: whole, Check: func(*terraform.State) error {
				if routes := nb("lr-route-list", "lab"); !strings.Contains(routes, "10.128.0.0/14") || !strings.Contains(routes, "10.19.41.254") {
					return fmt.Errorf("routes: %s", routes)
				}
				return nil
			}},
			// The way out goes to the other hypervisor, and the router's own network stays.
			{Config: strings.Replace(whole, `chassis["hv1"]`, `chassis["hv2"]`, 1), Check: ping(across, out(true), in(true))},
			{ // the guest's own chassis translates
				Config: strings.Replace(whole, `inside = "10.50.0.11"`, `inside = "10.50.0.11", distributed = true`, 1), Check: ping(in(true), func() error {
					if shown := nb("lr-nat-list", "lab"); !strings.Contains(shown, "g1") {
						return fmt.Errorf("translated by no port: %s", shown)
					}
					return nil
				}),
			},
			{PreConfig: func() {
				nb("clear", "NAT", nb("--bare", "--columns=_uuid", "find", "NAT", "type=dnat_and_snat"), "logical_port")
			}, RefreshState: true, ExpectNonEmptyPlan: true,
				Check: resource.TestCheckResourceAttr(name, "floating.%", "0")}, // OVN translates nothing by half
			{ // it has another gateway's address with that
				Config: strings.Replace(whole, `gateway = "10.50.0.1"`, `gateway = "10.50.0.254"`, 1), Check: ping(func() error {
					acctest.On(t, "hv-1", "ip", "-n", "g1", "route", "replace", "default", "via", "10.50.0.254")
					return across()
				}, in(true)),
			},
			{ // and another network's, which it translates then
				Config: strings.NewReplacer(`"10.51.0.0/24"`, `"10.52.0.0/24"`, `"10.51.0.1"`, `"10.52.0.1"`).Replace(whole), Check: func(*terraform.State) error {
					if shown := nb("lr-nat-list", "lab"); !strings.Contains(shown, "10.52.0.0/24") || strings.Contains(shown, "10.51.0.0/24") {
						return fmt.Errorf("translated: %s", shown)
					}
					return nil
				},
			},
			{
				PreConfig: func() { acctest.On(t, "hv-1", "ip", "-n", "g1", "route", "replace", "default", "via", "10.50.0.1") },
				Config:    config(both), Check: ping(across, out(false)),
			},
			{
				PreConfig: func() {
					acctest.StopOVNGuest("hv-1", "g1")
					acctest.StopOVNGuest("hv-2", "g2")
					nb("lsp-del", "g1", "--", "lsp-del", "g2")
				},
				Config: config("networks = [virtcluster_ovn_network.nodes.name]"), Check: func(*terraform.State) error {
					if shown := nb("show", "dmz"); strings.Contains(shown, "router") {
						return fmt.Errorf("network dmz leads to the router: %s", shown)
					}
					return nil
				},
			},
			{Config: config(outside) + `
resource "virtcluster_ovn_router" "overlapping" {
  ovn      = virtcluster_ovn.lab.id
  name     = "overlapping"
  networks = [virtcluster_ovn_network.nodes.name]
  external = { bridge_mapping = "lan", address = "10.50.0.200/16", chassis = ["any"] }
}
`, ExpectError: regexp.MustCompile(`overlaps\s+network`)},
			{ // an address that a person's router has there
				PreConfig: func() {
					nb("ls-add", "persons", "--", "lsp-add", "persons", "persons-lan", "--", "lsp-set-type", "persons-lan", "localnet", "--", "lsp-set-options", "persons-lan", "network_name=lan",
						"--", "lr-add", "persons", "--", "lrp-add", "persons", "persons-out", "0a:00:00:00:00:98", "10.19.41.205/24",
						"--", "lsp-add", "persons", "persons-in", "--", "lsp-set-type", "persons-in", "router", "--", "lsp-set-options", "persons-in", "router-port=persons-out")
				},
				Config: config(outside) + neighbour("virtcluster_ovn.lab.id", "10.19.41.205/24"), ExpectError: regexp.MustCompile(`router\s+"persons"\s+has\s+10\.19\.41\.205`),
			},
			{PreConfig: func() { nb("lr-del", "persons", "--", "ls-del", "persons") }, Config: config(outside)},
		},
	})
}

// neighbour is another router on the network of the chassis.
func neighbour(ovn, address string) string {
	return fmt.Sprintf(`
resource "virtcluster_ovn_router" "neighbour" {
  ovn      = %s
  name     = "neighbour"
  external = { bridge_mapping = "lan", address = %q, chassis = ["any"] }
}
`, ovn, address)
}

// The third of three chassis takes over when the first one's tunnels are cut, and gives back.
func TestAccOVNRouterFailover(t *testing.T) {
	acctest.InSandbox(t)
	onLAN(t, 3)
	nb := acctest.Northbound(t, "hv-1")
	three := func(extra string) string {
		c := config(both + `  external = { bridge_mapping = "lan", address = "10.19.41.200/24", chassis = [for name in ["hv3", "hv2", "hv1"] : virtcluster_ovn.lab.chassis[name].id] }
  floating = { "10.19.41.201" = { inside = "10.50.0.11" } }
` + extra)
		return strings.Replace(c, "  chassis = {\n", fmt.Sprintf("  chassis = {\n    hv3 = { endpoint = %q, tunnel_ip = \"172.16.0.13\", bridge_mappings = { lan = \"br-ex\" } }\n", acctest.Endpoint("hv-3")), 1)
	}
	const fast = "  failover = { interval_ms = 200, multiplier = 3 }"
	lose := func() error {
		acctest.On(t, "lan-client", "sh", "-c", "ping -q -i 0.1 10.19.41.201 >/run/pings 2>&1 & echo $! >/run/pings.pid")
		time.Sleep(time.Second)
		acctest.On(t, "hv-3", "ip", "link", "set", "eth2", "down")
		t.Cleanup(func() { _, _ = acctest.Try(context.Background(), "hv-3", "ip", "link", "set", "eth2", "up") })
		time.Sleep(8 * time.Second)
		acctest.On(t, "lan-client", "sh", "-c", "kill -INT $(cat /run/pings.pid); sleep 0.5")
		out := acctest.On(t, "lan-client", "cat", "/run/pings")
		var sent, received int
		for line := range strings.Lines(out) {
			if n, _ := fmt.Sscanf(line, "%d packets transmitted, %d", &sent, &received); n == 2 {
				break
			}
		}
		t.Logf("with the first chassis cut off %d of %d packets were lost, ten a second", sent-received, sent)
		if received == 0 || sent-received > 20 {
			return fmt.Errorf("no failover within 2 s: %s", out)
		}
		acctest.On(t, "hv-3", "ip", "link", "set", "eth2", "up")
		return reaches("lan-client", "", "10.19.41.201", true)
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			{Config: three("")},
			{
				PreConfig: func() {
					nb("lsp-add", "nodes", "g1", "--", "lsp-set-addresses", "g1", "02:00:00:00:00:11 10.50.0.11")
					acctest.StartOVNGuest(t, "hv-1", "g1", "02:00:00:00:00:11", "10.50.0.11", "10.50.0.1")
					nb("--wait=hv", "sync")
				},
				Config: three(fast), Check: func(*terraform.State) error {
					if err := reaches("lan-client", "", "10.19.41.201", true); err != nil {
						return err
					}
					return lose()
				},
			},
			{ // what a person changes shows
				PreConfig: func() { nb("set", "NB_Global", ".", "options:bfd-min-rx=1000") }, RefreshState: true, ExpectNonEmptyPlan: true,
				Check: resource.TestCheckResourceAttr(name, "failover.interval_ms", "1000"),
			},
			{ // another router cannot have another one
				Config: three(fast) + `
resource "virtcluster_ovn_router" "other" {
  ovn      = virtcluster_ovn.lab.id
  name     = "other"
  external = { bridge_mapping = "lan", address = "10.19.41.202/24", chassis = [virtcluster_ovn.lab.chassis["hv1"].id] }
  failover = { interval_ms = 500, multiplier = 5 }
}
`, PlanOnly: true, ExpectError: regexp.MustCompile("has another failover"),
			},
			{
				PreConfig: func() {
					acctest.StopOVNGuest("hv-1", "g1")
					nb("lsp-del", "g1")
				},
				Config: three(""), Check: func(*terraform.State) error {
					if options := nb("get", "NB_Global", ".", "options"); strings.Contains(options, "bfd-") {
						return fmt.Errorf("options: %s", options)
					}
					return nil
				},
			},
		},
	})
}

// What cannot be is refused before any of it is there: networks of the same plan that one router cannot tell apart, or that are the way out's.
func TestAccOVNRouterOfAPlanThatCannotBe(t *testing.T) {
	acctest.InSandbox(t)
	acctest.Hypervisors(t, 2)
	known := strings.ReplaceAll(config(outside), "virtcluster_ovn.lab.id", strconv.Quote(acctest.Endpoint("hv-1")))
	same := func(of, as string) string { return strings.ReplaceAll(known, of, as) }
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			{Config: known, PlanOnly: true, ExpectNonEmptyPlan: true},
			{Config: same(`"10.51.0.`, `"10.50.0.`), PlanOnly: true, ExpectError: regexp.MustCompile(`Router that would not work[\s\S]*overlaps\s+network`)},
			{Config: same(`"10.51.0.`, `"10.19.41.`), PlanOnly: true, ExpectError: regexp.MustCompile(`overlaps\s+network\s+"lab-external"`)},
			{Config: known + neighbour(strconv.Quote(acctest.Endpoint("hv-1")), "10.19.41.200/24"), PlanOnly: true, ExpectError: regexp.MustCompile(`IP\s+address\s+10\.19\.41\.200\s+on\s+network\s+"lan"[\s\S]*belongs\s+to\s+OVN\s+router`)},
		},
	})
}
