package node_test

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// dual is a node in a network of both families. The machine itself stays off: a client stands in for it.
func dual(network, address6, more string) string {
	return acctest.Provider() + fmt.Sprintf(`
resource "virtcluster_network" "n" {
  name      = "nodedual"
  bridge    = "nodedual"
  mode      = "isolated"
  cidr      = "10.76.0.0/24"
  ipv6_cidr = "fd00:76::/64"
  %s
}
resource "virtcluster_node" "n" {
  name       = "acc"
  type       = "qemu"
  memory_mib = 64
  running    = false
  role       = "worker"
  labels     = { zone = "a" }
  network_interfaces = [{ network = virtcluster_network.n.name, mac = "52:54:00:76:00:01", ip = "10.76.0.9", ipv6 = %q }]
}
%s`, network, address6, more)
}

const ranges = `dhcp = { ranges = [{ start = "10.76.0.210", end = "10.76.0.220" }, { start = "fd00:76::100", end = "fd00:76::1ff" }] }`

// lease takes addresses of both families with the MAC address and the name of the node, on a card of svc-1 that is
// plugged into the network's bridge.
func lease(t *testing.T) {
	t.Helper()
	link := func(argv ...string) {
		t.Helper()
		if out, err := exec.Command("ip", argv...).CombinedOutput(); err != nil {
			t.Fatalf("ip %s: %s", strings.Join(argv, " "), out)
		}
	}
	link("link", "add", "accdual", "type", "veth", "peer", "name", "accdual0", "netns", "svc-1")
	t.Cleanup(func() { _ = exec.Command("ip", "link", "del", "accdual").Run() })
	link("link", "set", "accdual", "master", "nodedual", "up")
	link("-n", "svc-1", "link", "set", "accdual0", "address", "52:54:00:76:00:01")
	link("-n", "svc-1", "link", "set", "accdual0", "addrgenmode", "eui64", "up")
	// A client that asks before the bridge forwards waits long until it asks again.
	acctest.On(t, "hypervisor", "sh", "-c", "until grep -q 3 /sys/class/net/accdual/brport/state; do sleep 0.1; done")
	acctest.On(t, "svc-1", "sh", "-c", `d=$(mktemp -d) && cd $d && trap "rm -r $d" EXIT && echo 'send host-name "acc"; send fqdn.fqdn "acc"; send fqdn.encoded on;' >conf
		until ip -6 addr show dev accdual0 scope link | grep -v tentative | grep -q fe80; do sleep 0.1; done
		for family in 4 6; do timeout 60 dhclient -$family -1 -sf /bin/true -cf $d/conf -lf $d/leases$family -pf $d/pid accdual0 || exit; pkill -f $d/conf || true; done`)
	// dnsmasq tells libvirt after it has told the client.
	for deadline := time.Now().Add(time.Minute); strings.Count(virsh(t, "net-dhcp-leases", "nodedual"), "52:54:00:76:00:01") < 2; time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("libvirt does not have both leases:\n%s", virsh(t, "net-dhcp-leases", "nodedual"))
		}
	}
}

func TestAccNodeHasAddressesOfBothFamilies(t *testing.T) {
	acctest.InSandbox(t)
	const sources = `
data "virtcluster_dhcp_leases" "l" {
  network = virtcluster_network.n.name
  mac     = virtcluster_node.n.network_interfaces[0].mac
}
data "virtcluster_nodes" "found" {
  role       = "worker"
  labels     = { zone = "a" }
  depends_on = [virtcluster_node.n]
}
data "virtcluster_nodes" "other" {
  labels     = { zone = "b" }
  depends_on = [virtcluster_node.n]
}
`
	attr := resource.TestCheckResourceAttr
	hosts := says(t, "net-dumpxml nodedual", `<host mac='52:54:00:76:00:01' name='acc' ip='10.76.0.9'/>`, `<host name='acc' ip='fd00:76::9'/>`)
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			{Config: dual(ranges, "fd00:76::9", ""), Check: resource.ComposeTestCheckFunc(hosts, func(*terraform.State) error {
				lease(t)
				return nil
			}, says(t, "net-dhcp-leases nodedual", `10\.76\.0\.9/24 +acc`, `fd00:76::9/64 +acc`))},
			{Config: dual(ranges, "fd00:76:0::9", sources), Check: resource.ComposeTestCheckFunc(
				attr("data.virtcluster_dhcp_leases.l", "leases.0.ip", "10.76.0.9"), attr("data.virtcluster_dhcp_leases.l", "leases.1.ip", "fd00:76::9"),
				attr("data.virtcluster_dhcp_leases.l", "leases.1.hostname", "acc"),
				attr("data.virtcluster_nodes.found", "nodes.#", "1"), attr("data.virtcluster_nodes.found", "nodes.0.name", "acc"), attr("data.virtcluster_nodes.found", "nodes.0.state", "shutoff"),
				attr("data.virtcluster_nodes.found", "nodes.0.macs.eth0", "52:54:00:76:00:01"), attr("data.virtcluster_nodes.found", "nodes.0.addresses.eth0", "10.76.0.9"),
				attr("data.virtcluster_nodes.other", "nodes.#", "0"),
			)},
			{
				ResourceName: address, ImportState: true, ImportStateId: "acc", ImportStateVerify: true,
			},
			{ // drift of the second family
				PreConfig: func() {
					virsh(t, "net-update", "nodedual", "delete", "ip-dhcp-host", "<host name='acc' ip='fd00:76::9'/>", "--parent-index", "1", "--live", "--config")
				},
				Config: dual(ranges, "fd00:76::9", ""), ConfigPlanChecks: updates(), Check: hosts,
			},
			{Config: dual(ranges, "fd00:76::a", ""), ConfigPlanChecks: updates(), Check: says(t, "net-dumpxml nodedual", `<host name='acc' ip='fd00:76::a'/>`)},
			// Reservations alone: DHCP that leaves no trace in what libvirt models.
			{Config: dual("dhcp = {}", "fd00:76::a", ""), Check: says(t, "net-dumpxml nodedual", `<host name='acc' ip='fd00:76::a'/>`)},
		},
	})
}

func TestAccNodeAgainstAPlannedNetwork(t *testing.T) {
	acctest.BothCLIs(t)
	acctest.InSandbox(t)
	fails := func(config, want string) resource.TestStep {
		return resource.TestStep{Config: config, PlanOnly: true, ExpectError: wrapped(want)}
	}
	other := `resource "virtcluster_node" "other" {
  name = "other"
  type = "qemu"
  network_interfaces = [{ network = virtcluster_network.n.name, %s }]
}
`
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			// A subnet that is not known yet may be any.
			{Config: strings.Replace(dual("dhcp = {}", "fd00:76::9", "resource \"terraform_data\" \"c\" {\n  input = \"10.76.0.0/24\"\n}\n"), `"10.76.0.0/24"`, "terraform_data.c.output", 1), PlanOnly: true, ExpectNonEmptyPlan: true},
			fails(dual("", "fd00:76::9", ""), "will give no addresses: give it a dhcp block"),
			fails(dual("dhcp = {}", "fd00:76::1", ""), `IP address fd00:76::1 on network "nodedual"`),
			fails(dual("dhcp = {}", "fd00:77::9", ""), `network "nodedual" will have`),
			fails(dual("dhcp = {}", "fd00:76::9", fmt.Sprintf(other, `ipv6 = "fd00:76::9"`)), "IP address fd00:76::9 on"),
			fails(dual("dhcp = {}", "fd00:76::9", fmt.Sprintf(other, `ipv6 = "fd00:76::8", hostname = "acc"`)), "reservation for acc on"),
			fails(dual("dhcp = {}", "fd00:76::9", fmt.Sprintf(other, `ip = "10.76.0.8" }, { network = virtcluster_network.n.name, ip = "10.76.0.8"`)), "network_interfaces[1].ip: IP address 10.76.0.8"),
			fails(dual(ranges, "fd00:76::1ff", ""), `network_interfaces[0].ipv6: network "nodedual" gives fd00:76::100 to fd00:76::1ff to any machine`),
			fails(dual(ranges, "fd00:76::9", fmt.Sprintf(other, `addresses = ["10.76.0.210/24"]`)), "network_interfaces[0].addresses[0]: network"),
		},
	})
}

func TestAccNodeSwapsAddressesOfItsInterfaces(t *testing.T) {
	acctest.InSandbox(t)
	config := func(first, second string) string {
		return acctest.Provider() + fmt.Sprintf(`
resource "virtcluster_network" "n" {
  name = "nodeswap"
  mode = "isolated"
  cidr = "10.73.0.0/24"
  dhcp = {}
}
resource "virtcluster_node" "n" {
  name       = "acc"
  type       = "qemu"
  memory_mib = 64
  running    = false
  network_interfaces = [
    { network = virtcluster_network.n.id, mac = "52:54:00:73:00:01", ip = %q },
    { network = virtcluster_network.n.id, mac = "52:54:00:73:00:02", ip = %q },
  ]
}
`, first, second)
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			{Config: config("10.73.0.3", "10.73.0.2"), Check: says(t, "net-dumpxml nodeswap", `73:00:01' name='acc' ip='10.73.0.3'`, `73:00:02' name='acc-eth1' ip='10.73.0.2'`)},
			{Config: config("10.73.0.2", "10.73.0.3"), ConfigPlanChecks: updates(), Check: says(t, "net-dumpxml nodeswap", `73:00:01' name='acc' ip='10.73.0.2'`, `73:00:02' name='acc-eth1' ip='10.73.0.3'`)},
		},
	})
}
