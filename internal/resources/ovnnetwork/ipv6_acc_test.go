package ovnnetwork_test

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// inGuest waits until a script ends well in the guest of a domain.
func inGuest(machine, domain, script string) resource.TestCheckFunc {
	return func(*terraform.State) error {
		var said string
		var err error
		for end := time.Now().Add(90 * time.Second); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
			if said, err = acctest.InGuestOf(context.Background(), machine, domain, script); err == nil {
				return nil
			}
		}
		return fmt.Errorf("%s in %s of %s: %w: %s", script, domain, machine, err, said)
	}
}

// Guests of a network with IPv6 make their addresses by what the router advertises, reach each other and the router by them, and send from nothing else
// where their ports are secure. The network of IPv6 comes, becomes another one and goes while they run; what somebody takes away of it shows.
func TestAccOVNNetworkIPv6(t *testing.T) {
	nb, stage := ovnStage(t)
	const of = "virtcluster_ovn_network.nodes"
	config := func(six string) string {
		text := stage(`{ NET, mac = "52:54:00:50:00:01", ip = "10.50.0.11", port_security = true }`, `{ NET, mac = "52:54:00:50:00:02" }`)
		if six != "" {
			text = strings.Replace(text, "gateway = \"10.50.0.1\"\n", "gateway = \"10.50.0.1\"\n  ipv6_cidr = \""+six+"\"\n", 1)
		}
		return text + fmt.Sprintf("resource \"virtcluster_ovn_router\" \"lab\" {\n  ovn      = %q\n  name     = \"lab\"\n  networks = [virtcluster_ovn_network.nodes.name]\n}\n", acctest.Endpoint("hv-1"))
	}
	port := func(machine, domain, mac, column, want string) resource.TestCheckFunc {
		return func(*terraform.State) error {
			if got := nb("--bare", "--columns="+column, "list", "Logical_Switch_Port", interfaceID(t, machine, domain, mac)); got != want {
				return fmt.Errorf("%s of the port of %s is %q, not %q", column, mac, got, want)
			}
			return nil
		}
	}
	has := func(prefix string) resource.TestCheckFunc {
		first, second := prefix+"5054:ff:fe50:1", prefix+"5054:ff:fe50:2"
		return resource.ComposeTestCheckFunc(
			port("hv-1", "acc-a", "52:54:00:50:00:01", "addresses", "52:54:00:50:00:01 10.50.0.11 "+first), port("hv-1", "acc-a", "52:54:00:50:00:01", "port_security", "52:54:00:50:00:01 10.50.0.11 "+first),
			port("hv-2", "acc-b", "52:54:00:50:00:02", "addresses", "52:54:00:50:00:02 dynamic unknown"),
			func(*terraform.State) error {
				if drawn := nb("--bare", "--columns=dynamic_addresses", "list", "Logical_Switch_Port", interfaceID(t, "hv-2", "acc-b", "52:54:00:50:00:02")); !strings.HasSuffix(drawn, " "+second) {
					return fmt.Errorf("the drawn addresses are %q", drawn)
				}
				return nil
			},
			inGuest("hv-1", "acc-a", "/bin/busybox ip -6 address show dev eth0 | /bin/busybox grep -q ' "+first+"/64 '"),
			inGuest("hv-2", "acc-b", "/bin/busybox ip -6 address show dev eth0 | /bin/busybox grep -q ' "+second+"/64 '"),
			inGuest("hv-1", "acc-a", "/bin/busybox ping -6 -c 1 -W 2 -I "+first+" "+second),
			inGuest("hv-1", "acc-a", "/bin/busybox ping -6 -c 1 -W 2 "+prefix+"1"),
			inGuest("hv-2", "acc-b", "/bin/busybox ping -6 -c 1 -W 2 -I "+second+" "+first),
		)
	}
	spoof := func(machine, domain string, want bool) resource.TestCheckFunc {
		to, end := map[string]string{"hv-1": "2", "hv-2": "1"}[machine], map[bool]string{true: "[ $answered = 0 ]", false: "[ $answered != 0 ]"}[want]
		return inGuest(machine, domain, `/bin/busybox ip -6 address add fd00:50::77/64 dev eth0 && /bin/busybox sleep 3
/bin/busybox ping -6 -c 4 -W 1 -I fd00:50::77 fd00:50::5054:ff:fe50:`+to+`; answered=$?
/bin/busybox ip -6 address del fd00:50::77/64 dev eth0 && `+end)
	}
	update := resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
		plancheck.ExpectResourceAction(of, plancheck.ResourceActionUpdate), plancheck.ExpectResourceAction("virtcluster_node.a", plancheck.ResourceActionNoop), plancheck.ExpectResourceAction("virtcluster_node.b", plancheck.ResourceActionNoop),
	}}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			{Config: config("fd00:50::/56"), PlanOnly: true, ExpectError: regexp.MustCompile(`write\s+a\s+network\s+of\s+IPv6`)},
			{Config: config("")},
			{Config: config("fd00:50::/64"), ConfigPlanChecks: update, Check: resource.ComposeTestCheckFunc(has("fd00:50::"), spoof("hv-1", "acc-a", false), spoof("hv-2", "acc-b", true))},
			{ResourceName: of, ImportState: true, ImportStateVerify: true},
			{ // what somebody takes off a port, or off the router, shows
				PreConfig: func() {
					nb("lsp-set-addresses", interfaceID(t, "hv-1", "acc-a", "52:54:00:50:00:01"), "52:54:00:50:00:01 10.50.0.11")
				},
				RefreshState: true, ExpectNonEmptyPlan: true, Check: resource.TestCheckNoResourceAttr(of, "ipv6_cidr"),
			},
			{Config: config("fd00:50::/64"), Check: has("fd00:50::")},
			{
				PreConfig:    func() { nb("clear", "Logical_Router_Port", "lab-nodes", "ipv6_ra_configs") },
				RefreshState: true, ExpectNonEmptyPlan: true, Check: resource.TestCheckResourceAttr("virtcluster_ovn_router.lab", "networks.#", "0"),
			},
			{
				PreConfig:    func() { nb("remove", "Logical_Switch", "nodes", "other_config", "ipv6_prefix") },
				RefreshState: true, ExpectNonEmptyPlan: true, Check: resource.TestCheckNoResourceAttr(of, "ipv6_cidr"),
			},
			{Config: config("fd00:50::/64"), Check: has("fd00:50::")},
			{Config: config("fd00:51::/64"), ConfigPlanChecks: update, Check: has("fd00:51::")},
			{Config: config(""), ConfigPlanChecks: update, Check: resource.ComposeTestCheckFunc(
				port("hv-1", "acc-a", "52:54:00:50:00:01", "addresses", "52:54:00:50:00:01 10.50.0.11"), port("hv-1", "acc-a", "52:54:00:50:00:01", "port_security", "52:54:00:50:00:01 10.50.0.11"),
				func(*terraform.State) error {
					if is := nb("--columns=networks,ipv6_ra_configs", "list", "Logical_Router_Port", "lab-nodes"); strings.Contains(is, "fd00") || strings.Contains(is, "slaac") {
						return fmt.Errorf("the router has %s", is)
					}
					return nil
				})},
		},
	})
}
