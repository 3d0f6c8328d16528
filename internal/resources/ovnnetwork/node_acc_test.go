package ovnnetwork_test

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// ovnStage has two hypervisors be chassis of OVN, and returns how the northbound database is asked, and a configuration of a network over both
// and of a node on each, by what stands in the interfaces of each: node a on hv-1, and node b on hv-2.
func ovnStage(t *testing.T) (nb func(argv ...string) string, config func(a, b string) string) {
	t.Helper()
	acctest.InSandbox(t)
	machines := acctest.StartOVN(t, 2)
	nb = acctest.Northbound(t, "hv-1")
	nb("ls-add", "persons", "--", "lsp-add", "persons", "persons-port")
	config = func(a, b string) string {
		hypervisors := ""
		for _, machine := range machines {
			hypervisors += fmt.Sprintf("    %s = { uri = %q }\n", machine, acctest.HypervisorURI(machine))
		}
		text := fmt.Sprintf("provider \"virtcluster\" {\n  ssh = { private_key_file = %q }\n  hypervisors = {\n%s  }\n}\n", os.Getenv("SANDBOX_SSH_KEY"), hypervisors) + fmt.Sprintf(`
resource "virtcluster_ovn_network" "nodes" {
  ovn     = %q
  name    = "nodes"
  cidr    = "10.50.0.0/24"
  gateway = "10.50.0.1"
  dhcp    = { pool = ["10.50.0.100-10.50.0.199"] }
}
`, acctest.Endpoint("hv-1"))
		for _, machine := range machines {
			text += fmt.Sprintf(`
resource "virtcluster_storage_pool" %[1]q {
  hypervisor = %[1]q
  name       = "ovn"
  path       = "/var/lib/libvirt/ovn"
}
resource "virtcluster_image" %[1]q {
  hypervisor = %[1]q
  name       = "tiny.qcow2"
  pool       = virtcluster_storage_pool.%[1]s.name
  source     = %[2]q
}
`, machine, os.Getenv("SANDBOX_TINY_IMAGE"))
		}
		for n, interfaces := range []string{a, b} {
			if interfaces == "" {
				continue
			}
			text += fmt.Sprintf(`
resource "virtcluster_node" "%[1]s" {
  hypervisor         = "hv-%[2]d"
  name               = "acc-%[1]s"
  type               = "qemu"
  memory_mib         = 128
  shutdown_timeout   = "0s"
  root_disk          = { image = virtcluster_image.hv-%[2]d.id, size_gib = 1 }
  network_interfaces = [%[3]s]
}
`, string(rune('a'+n)), n+1, strings.ReplaceAll(interfaces, "NET", "ovn_network = virtcluster_ovn_network.nodes.id"))
		}
		return text
	}
	return nb, config
}

// heedsLinkOn has the guest of a node heed its link, once its agent answers.
func heedsLinkOn(t *testing.T, machine, domain string) {
	t.Helper()
	acctest.Eventually(t, "the guest agent of "+domain, func() bool {
		_, err := acctest.InGuestOf(t.Context(), machine, domain, "true")
		return err == nil
	})
	acctest.HeedLink(t, machine, domain)
}

// reaches waits until the guest of a domain gets an answer from an address, and refuses one that gets none.
func reaches(machine, domain, ip string) resource.TestCheckFunc {
	return func(*terraform.State) error {
		var said string
		var err error
		for end := time.Now().Add(90 * time.Second); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
			if said, err = acctest.InGuestOf(context.Background(), machine, domain, "/bin/busybox ping -c1 -W1 "+ip); err == nil {
				return nil
			}
		}
		return fmt.Errorf("%s does not reach %s: %w: %s", domain, ip, err, said)
	}
}

// guestHas waits until the guest of a domain has an address on its first card, as its kernel says.
func guestHas(machine, domain, address string) resource.TestCheckFunc {
	return func(*terraform.State) error {
		var said string
		var err error
		for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
			if said, err = acctest.InGuestOf(context.Background(), machine, domain, "/bin/busybox ip -4 address show dev eth0"); err == nil && strings.Contains(said, " "+address+"/24 ") {
				return nil
			}
		}
		return fmt.Errorf("%s does not have %s: %w: %s", domain, address, err, said)
	}
}

// sendScript has a guest ping an address from another one than it was given, and, where one is written, from another MAC address.
const sendScript = `card=/sys/class/net/eth0/address
mac=$(/bin/busybox cat $card)
/bin/busybox ip address add %[1]s/24 dev eth0
[ -z "%[2]s" ] || /bin/busybox ip link set dev eth0 address "%[2]s"
/bin/busybox ping -c 4 -W 1 -I %[1]s %[3]s; answered=$?
/bin/busybox ip link set dev eth0 address "$mac"
/bin/busybox ip address del %[1]s/24 dev eth0
exit $answered`

// answersFrom wants an address to answer the guest of a domain where it sends from another address, and another MAC address where one is
// written, or, where want is false, to hear nothing of it.
func answersFrom(machine, domain, from, mac, to string, want bool) resource.TestCheckFunc {
	return func(*terraform.State) error {
		said, err := acctest.InGuestOf(context.Background(), machine, domain, fmt.Sprintf(sendScript, from, mac, to))
		if (err == nil) != want || !strings.Contains(said, "packets transmitted") {
			return fmt.Errorf("%s sends to %s from %s %s, answered %t: %w: %s", domain, to, from, mac, !want, err, said)
		}
		return nil
	}
}

// interfaceID is the UUID of the interface of a domain that has a MAC address, by libvirt.
func interfaceID(t *testing.T, machine, domain, mac string) string {
	t.Helper()
	xml := acctest.On(t, machine, "virsh", "dumpxml", domain)
	found := regexp.MustCompile(`(?s)<mac address='` + mac + `'/>.*?interfaceid='([^']*)'`).FindStringSubmatch(xml)
	if found == nil {
		t.Fatalf("%s has no port for %s:\n%s", domain, mac, xml)
	}
	return found[1]
}

// Two nodes on two hypervisors share a network of OVN: what each has there is its own, changes while it runs, is read back from the database, and
// goes with it.
func TestAccNodeOnOVN(t *testing.T) {
	nb, config := ovnStage(t)
	const a, b = `{ NET, mac = "52:54:00:50:00:01", ip = "10.50.0.11", port_security = false }`, `{ NET, mac = "52:54:00:50:00:02", ip = "10.50.0.12", port_security = true }`
	first := "virtcluster_node.a"
	port := func(column string, want string) resource.TestCheckFunc {
		return func(*terraform.State) error {
			uuid := interfaceID(t, "hv-1", "acc-a", "52:54:00:50:00:01")
			if got := nb("--bare", "--columns="+column, "list", "Logical_Switch_Port", uuid); got != want {
				return fmt.Errorf("%s of the port of a is %q, not %q", column, got, want)
			}
			return nil
		}
	}
	var id string
	goesOn := func(*terraform.State) error {
		now := acctest.On(t, "hv-1", "virsh", "domid", "acc-a")
		if id != "" && now != id {
			return fmt.Errorf("a was restarted: %s, and was %s", now, id)
		}
		id = now
		return nil
	}
	update := resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectResourceAction(first, plancheck.ResourceActionUpdate), plancheck.ExpectResourceAction("virtcluster_node.b", plancheck.ResourceActionNoop)}}
	const changed = `{ NET, mac = "52:54:00:50:00:01", ip = "10.50.0.21", port_security = true, allowed_addresses = ["10.50.0.5", "10.60.0.0/24"] }`
	const two = changed + `, { NET, mac = "52:54:00:50:00:03" }`
	interfaces := "network_interfaces.0."
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		CheckDestroy: func(*terraform.State) error {
			if left := nb("--bare", "--columns=name", "list", "Logical_Switch_Port"); left != "persons-port" {
				return fmt.Errorf("left: %s", left)
			}
			return nil
		},
		Steps: []resource.TestStep{
			{Config: config(a, b), Check: resource.ComposeTestCheckFunc(goesOn,
				port("addresses", "52:54:00:50:00:01 10.50.0.11 unknown"), port("port_security", ""), port("options", `hostname="acc-a"`),
				resource.TestCheckResourceAttr(first, "addresses.eth0", "10.50.0.11"),
				reaches("hv-1", "acc-a", "10.50.0.12"), reaches("hv-2", "acc-b", "10.50.0.11"), guestHas("hv-1", "acc-a", "10.50.0.11"), guestHas("hv-2", "acc-b", "10.50.0.12"),
				answersFrom("hv-1", "acc-a", "10.50.0.77", "", "10.50.0.12", true), answersFrom("hv-1", "acc-a", "10.50.0.78", "02:00:00:00:00:78", "10.50.0.12", true),
				answersFrom("hv-2", "acc-b", "10.50.0.79", "", "10.50.0.11", false), answersFrom("hv-2", "acc-b", "10.50.0.80", "02:00:00:00:00:80", "10.50.0.11", false))},
			{ResourceName: first, ImportState: true, ImportStateIdFunc: func(s *terraform.State) (string, error) {
				return "hv-1/" + s.RootModule().Resources[first].Primary.ID, nil
			}, ImportStateVerify: true, ImportStateVerifyIgnore: []string{"root_disk.image", "root_disk.%"}},
			{ // a person's edits show, each on its attribute, and are mended while the guest runs
				PreConfig: func() {
					heedsLinkOn(t, "hv-1", "acc-a")
					uuid := interfaceID(t, "hv-1", "acc-a", "52:54:00:50:00:01")
					nb("lsp-set-addresses", uuid, "52:54:00:50:00:01 10.50.0.77", "unknown", "--", "lsp-set-port-security", uuid, "52:54:00:50:00:01 10.50.0.77 10.50.0.78")
				},
				RefreshState: true, ExpectNonEmptyPlan: true,
				Check: resource.ComposeTestCheckFunc(resource.TestCheckResourceAttr(first, interfaces+"ip", "10.50.0.77"), resource.TestCheckResourceAttr(first, interfaces+"port_security", "true"),
					resource.TestCheckResourceAttr(first, interfaces+"allowed_addresses.0", "10.50.0.78")),
			},
			{Config: config(a, b), ConfigPlanChecks: update, Check: resource.ComposeTestCheckFunc(goesOn, port("addresses", "52:54:00:50:00:01 10.50.0.11 unknown"), port("port_security", ""))},
			{ // what changes, changes while the guest runs
				Config: config(changed, b), ConfigPlanChecks: update, Check: resource.ComposeTestCheckFunc(goesOn,
					port("addresses", "52:54:00:50:00:01 10.50.0.21"), port("port_security", "52:54:00:50:00:01 10.50.0.21 10.50.0.5 10.60.0.0/24"),
					reaches("hv-2", "acc-b", "10.50.0.21"), guestHas("hv-1", "acc-a", "10.50.0.21"),
					answersFrom("hv-1", "acc-a", "10.50.0.77", "", "10.50.0.12", false), answersFrom("hv-1", "acc-a", "10.50.0.5", "", "10.50.0.12", true)),
			},
			{Config: config(two, b), Check: resource.ComposeTestCheckFunc(goesOn, resource.TestMatchResourceAttr(first, "addresses.eth1", regexp.MustCompile(`^10\.50\.0\.1\d\d$`)))},
			{Config: config(changed, b), Check: resource.ComposeTestCheckFunc(goesOn, resource.TestCheckNoResourceAttr(first, "addresses.eth1"), func(*terraform.State) error {
				if ports := strings.Fields(nb("--bare", "--columns=name", "list", "Logical_Switch_Port")); len(ports) != 3 {
					return fmt.Errorf("the ports are %v", ports)
				}
				return nil
			})},
			{ // a port that somebody removed
				PreConfig:    func() { nb("lsp-del", interfaceID(t, "hv-1", "acc-a", "52:54:00:50:00:01")) },
				RefreshState: true, ExpectNonEmptyPlan: true, Check: resource.ComposeTestCheckFunc(resource.TestCheckNoResourceAttr(first, interfaces+"ovn_network"), resource.TestCheckNoResourceAttr(first, interfaces+"ip")),
			},
			{Config: config(changed, b), ConfigPlanChecks: update, Check: resource.ComposeTestCheckFunc(goesOn, reaches("hv-2", "acc-b", "10.50.0.21"))},
			{ // databases that are stopped say nothing of it, and keep no plan of what would start them from being made
				PreConfig: func() { acctest.StopOVNCentral(t, "hv-1") }, Config: config(changed, b), PlanOnly: true,
			},
			{PreConfig: func() { acctest.RestartOVNCentral(t, "hv-1") }, Config: config(changed, b), PlanOnly: true},
			{Config: config(changed, ""), Check: func(*terraform.State) error {
				if ports := strings.Fields(nb("--bare", "--columns=name", "list", "Logical_Switch_Port")); len(ports) != 2 {
					return fmt.Errorf("the ports are %v", ports)
				}
				return nil
			}},
		},
	})
}

// Addresses that the network does not have, or that somebody has, are refused at plan where the database answers.
func TestAccNodeOnOVNBadInput(t *testing.T) {
	nb, config := ovnStage(t)
	const good = `{ NET, mac = "52:54:00:50:00:01", ip = "10.50.0.11" }`
	plan := func(a, b, want string) resource.TestStep {
		return resource.TestStep{Config: config(a, b), PlanOnly: true, ExpectError: regexp.MustCompile(strings.ReplaceAll(want, " ", `[\s│]+`))}
	}
	machine := acctest.Endpoint("hv-1")
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			plan(`{ NET, network = "default" }`, "", "write only one of network, bridge and ovn_network"),
			plan(`{ ovn_network = "nodes" }`, "", "write the id of a virtcluster_ovn_network"),
			plan(`{ ovn_network = "`+machine+`#network/none" }`, "", `has no network "none"`),
			plan(`{ NET, ipv6 = "fd00::1" }`, "", "a network of OVN gives addresses of IPv4"),
			plan(`{ NET, security_rules = [{ direction = "ingress", protocol = "tcp" }] }`, "", "write security_groups instead"),
			plan(good, `{ NET, ip = "10.50.0.11" }`, `IP address 10.50.0.11 on network "nodes" of OVN of \S+ belongs to node "acc-`),
			{Config: config(good, "")},
			plan(good, `{ NET, ip = "10.51.0.11" }`, "choose an address of a machine in there"),
			plan(good, `{ NET, ip = "10.50.0.1" }`, `is the gateway of network "nodes"`),
			{
				PreConfig: func() {
					nb("lsp-add", "nodes", "a-persons", "--", "lsp-set-addresses", "a-persons", "52:54:00:50:00:99 10.50.0.99")
				},
				Config: config(good, ""), PlanOnly: true,
			},
			plan(good, `{ NET, ip = "10.50.0.99" }`, `port "a-persons" of network "nodes" .which this provider did not write. has 10.50.0.99 already`),
			plan(good, `{ NET, mac = "52:54:00:50:00:99" }`, `has 52:54:00:50:00:99 already`),
			{PreConfig: func() { nb("lsp-del", "a-persons") }, Config: config(good, ""), PlanOnly: true},
		},
	})
}
