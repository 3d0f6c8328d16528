package network_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"
)

// keeps checks the reservations that virsh shows in both definitions.
func keeps(t *testing.T, want ...string) resource.TestCheckFunc {
	return func(*terraform.State) error {
		for _, flags := range [][]string{nil, {"--inactive"}} {
			xml := shell(t, append([]string{"virsh", "net-dumpxml", "acc0"}, flags...)...)
			if n := strings.Count(xml, "<host mac="); n != len(want) {
				t.Errorf("%d reservations instead of %d in\n%s", n, len(want), xml)
			}
			for _, w := range want {
				if !strings.Contains(xml, w) {
					t.Errorf("%s is not in\n%s", w, xml)
				}
			}
		}
		return nil
	}
}

func TestAccNetworkListedHosts(t *testing.T) {
	listed := func(hosts string) string {
		return config(management + "  dhcp = { ranges = [{ start = \"10.91.0.200\", end = \"10.91.0.220\" }], hosts = {\n" + hosts + "\n} }\n")
	}
	const one, two = `"52:54:00:AA:91:01" = { ip = "10.91.0.5", hostname = "five" }`, `"52:54:00:aa:91:02" = { ip = "10.91.0.6" }`
	const adopts = `
resource "virtcluster_dhcp_reservation" "r" {
  network = virtcluster_network.n.name
  mac     = "52:54:00:aa:91:01"
  ip      = "10.91.0.5"
}
`
	live := resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectResourceAction(address, plancheck.ResourceActionUpdate)}}
	unchanged := resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectEmptyPlan()}}
	const host1, host2 = "<host mac='52:54:00:aa:91:01' name='five' ip='10.91.0.5'/>", "<host mac='52:54:00:aa:91:02' ip='10.91.0.6'/>"
	var device string
	test(t, "acc0",
		resource.TestStep{Config: listed(one + "\n" + two), Check: resource.ComposeTestCheckFunc(keeps(t, host1, host2), func(*terraform.State) error {
			device = shell(t, "cat", "/sys/class/net/accbr0/ifindex")
			return nil
		})},
		importing("acc0", "dhcp", "dns", "pxe"),
		resource.TestStep{Config: listed(one+"\n"+two) + adopts, Check: keeps(t, host1, host2)},
		resource.TestStep{Config: listed(one+"\n"+two) + adopts, ConfigPlanChecks: unchanged},
		resource.TestStep{Config: listed(one + "\n" + two), Check: keeps(t, host1, host2)}, // what a reservation adopted stays
		resource.TestStep{Config: listed(one + "\n" + two), PlanOnly: true},
		resource.TestStep{PreConfig: func() {
			shell(t, "virsh", "net-update", "acc0", "delete", "ip-dhcp-host", host1, "--live")
		}, Config: listed(one + "\n" + two), ConfigPlanChecks: live, Check: keeps(t, host1, host2)},
		resource.TestStep{PreConfig: func() {
			shell(t, "virsh", "net-update", "acc0", "modify", "ip-dhcp-host", "<host mac='52:54:00:aa:91:02' ip='10.91.0.9'/>", "--live", "--config")
		}, Config: listed(one + "\n" + two), ConfigPlanChecks: live, Check: keeps(t, host1, host2)},
		// Two that change places, one that goes, one that comes.
		resource.TestStep{Config: listed(strings.ReplaceAll(one, "0.5", "0.6") + "\n" + strings.ReplaceAll(two, "0.6", "0.5")), Check: keeps(t, strings.ReplaceAll(host1, "0.5", "0.6"), strings.ReplaceAll(host2, "0.6", "0.5"))},
		resource.TestStep{Config: listed(one + "\n" + strings.ReplaceAll(two, "02", "03")), Check: keeps(t, host1, strings.ReplaceAll(host2, "02'", "03'"))},
		// A person's own is in the way, and stays.
		resource.TestStep{PreConfig: func() {
			shell(t, "virsh", "net-update", "acc0", "add", "ip-dhcp-host", "<host mac='52:54:00:aa:91:09' ip='10.91.0.9'/>", "--live", "--config")
		}, Config: listed(`"52:54:00:aa:91:08" = { ip = "10.91.0.9" }`), ExpectError: regexp.MustCompile(`keeps\s+10.91.0.9\s+for\s+52:54:00:aa:91:09`)},
		resource.TestStep{Config: listed(`"52:54:00:aa:91:09" = { ip = "10.91.0.9" }`), Check: keeps(t, "52:54:00:aa:91:09")},
		resource.TestStep{Config: config(management + "  dhcp = { ranges = [{ start = \"10.91.0.200\", end = \"10.91.0.220\" }] }\n"), Check: resource.ComposeTestCheckFunc(keeps(t, "52:54:00:aa:91:09"), func(*terraform.State) error {
			if now := shell(t, "cat", "/sys/class/net/accbr0/ifindex"); now != device {
				t.Error("the network was restarted")
			}
			return nil
		})},
		// The network is not destroyed under a person's.
		resource.TestStep{PreConfig: func() {
			shell(t, "virsh", "net-update", "acc0", "delete", "ip-dhcp-host", "<host mac='52:54:00:aa:91:09'/>", "--live", "--config")
		}, Config: config(management + "  dhcp = { ranges = [{ start = \"10.91.0.200\", end = \"10.91.0.220\" }] }\n"), ConfigPlanChecks: unchanged},
	)
}

func TestAccNetworkListedHostsBadInput(t *testing.T) {
	bad := func(hosts, want string) resource.TestStep {
		c := config(management + "  dhcp = { ranges = [{ start = \"10.91.0.200\", end = \"10.91.0.220\" }], hosts = { " + hosts + " } }\n")
		return resource.TestStep{Config: c, PlanOnly: true, ExpectError: regexp.MustCompile(want)}
	}
	test(t, "acc0",
		bad(`"52:54:00:aa:91:01" = { ip = "10.92.0.5" }`, `Address outside the subnet`),
		bad(`"52:54:00:aa:91:01" = { ip = "10.91.0.210" }`, `Address in a DHCP range`),
		bad(`"52:54:00:aa:91:01" = { ip = "10.91.0.254" }`, `Address of the gateway`),
		bad(`"52:54:00:aa:91:01" = { ip = "fd00::1" }`, `IPv6 address for a MAC address`),
		bad(`"52:54:00:aa:91" = { ip = "10.91.0.5" }`, `Invalid MAC address`),
		bad(`"52:54:00:aa:91:01" = { ip = "10.91.0.5" }, "52-54-00-AA-91-01" = { ip = "10.91.0.6" }`, `MAC address written twice`),
		bad(`"52:54:00:aa:91:01" = { ip = "10.91.0.5" }, "52:54:00:aa:91:02" = { ip = "10.91.0.5" }`, `Address kept twice`),
		bad(`"52:54:00:aa:91:01" = { ip = "10.91.0.5", hostname = "a b" }`, `Invalid host name`),
	)
}

func TestAccNodeUsesAListedReservation(t *testing.T) {
	c := func(hosts, node string) string {
		return config(management+"  dhcp = { hosts = { "+hosts+" } }\n") + node
	}
	const listed = `"52:54:00:aa:91:01" = { ip = "10.91.0.5" }`
	node := func(ip string) string {
		return `
resource "virtcluster_node" "n" {
  name       = "accnode0"
  type       = "qemu"
  memory_mib = 64
  vcpus      = 1
  running    = false
  network_interfaces = [{ network = virtcluster_network.n.name, mac = "52:54:00:aa:91:01", ip = "` + ip + `", hostname = "master" }]
}
`
	}
	test(t, "acc0",
		resource.TestStep{Config: c(listed, ""), Check: keeps(t, "52:54:00:aa:91:01' ip='10.91.0.5'")},
		resource.TestStep{Config: c(listed, node("10.91.0.5")), Check: keeps(t, "52:54:00:aa:91:01' ip='10.91.0.5'")},
		resource.TestStep{Config: c(listed, node("10.91.0.5")), ConfigPlanChecks: unchanged},
		resource.TestStep{Config: c(listed, ""), Check: keeps(t, "52:54:00:aa:91:01' ip='10.91.0.5'")},
		resource.TestStep{Config: c(listed, node("10.91.0.6")), ExpectError: regexp.MustCompile(`(dhcp\.hosts|MAC\s+address\s+reserved)`)},
	)
}
