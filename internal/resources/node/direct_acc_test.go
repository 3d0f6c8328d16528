package node_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// serveLAN has the sandbox's LAN give an address to a card.
func serveLAN(t *testing.T, mac, address string) {
	t.Helper()
	pid := t.TempDir() + "/dnsmasq.pid"
	acctest.On(t, "lan", "dnsmasq", "--conf-file=/dev/null", "--port=0", "--user=root", "--interface=switch0", "--bind-interfaces", "--leasefile-ro", "--pid-file="+pid,
		"--dhcp-range=10.19.41.0,static", "--dhcp-host="+mac+","+address)
	t.Cleanup(func() {
		_, _ = acctest.Try(context.Background(), "hypervisor", "sh", "-c", `kill "$(cat "$1")"`, "sh", pid)
	})
}

func TestAccNodeIsUponADevice(t *testing.T) {
	acctest.BothCLIs(t)
	_, network, image := stage(t, "nodedirect")
	const mac, lan = "52:54:00:77:00:41", "10.19.41.200"
	serveLAN(t, mac, lan)
	acctest.On(t, "hypervisor", "sh", "-ec", "ip link add acc-bridge type bridge && ip link add acc-port type veth peer name acc-far && ip link set acc-port master acc-bridge")
	t.Cleanup(func() {
		_, _ = acctest.Try(context.Background(), "hypervisor", "sh", "-c", "ip link del acc-port; ip link del acc-bridge")
	})
	node := func(wiring string) string {
		return config(image, network, "  network_interfaces = [{ mac = \""+mac+"\""+wiring+" }]\n")
	}
	// onLAN waits until the guest answers a machine of the LAN that the device is on.
	onLAN := func(*terraform.State) error {
		var said string
		for deadline := time.Now().Add(3 * time.Minute); time.Now().Before(deadline); time.Sleep(time.Second) {
			var err error
			if said, err = acctest.Try(t.Context(), "lan-client", "curl", "-s", "--max-time", "5", "http://"+lan+":8080"); err == nil {
				return nil
			}
		}
		return fmt.Errorf("the guest does not answer on the LAN: %s", said)
	}
	sameRun := running(t)
	const upon = ", direct = { device = \"eno1\" }"
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			{Config: node(""), ExpectError: wrapped("Interface without a network")},
			{Config: node(upon + ", network = \"NET\""), ExpectError: wrapped("Interface with two networks")},
			{Config: node(upon + ", mtu = 1400"), ExpectError: wrapped("MTU upon a device")},
			{Config: node(", bridge = \"svcbr0\", trust = true"), ExpectError: wrapped("Trust without a device")},
			{Config: node(", direct = { device = \"acc-none\" }"), ExpectError: wrapped("Unknown device")},
			{Config: node(", direct = { device = \"acc-port\" }"), ExpectError: wrapped(`device "acc-port" is in "acc-bridge"`)},
			{Config: node(", direct = { device = \"eno1\", mode = \"passthrough\" }"), ExpectError: wrapped("the hypervisor has addresses of its own")},
			{
				Config: node(upon),
				Check: resource.ComposeTestCheckFunc(
					says(t, "dumpxml acc", `<interface type='direct'>`, `<source dev='eno1' mode='bridge'/>`), sameRun, onLAN,
					resource.TestCheckResourceAttr(address, "network_interfaces.0.direct.mode", "bridge"), resource.TestCheckResourceAttr(address, "network_interfaces.0.trust", "false"),
				),
			},
			{
				ResourceName: address, ImportState: true, ImportStateId: "acc", ImportStateVerify: true, ImportStateVerifyIgnore: []string{"root_disk.image", "addresses"},
			},
			{ // trusted while it runs
				Config: node(upon + ", trust = true"), ConfigPlanChecks: updates(),
				Check: resource.ComposeTestCheckFunc(says(t, "dumpxml acc", `trustGuestRxFilters='yes'`), says(t, "dumpxml acc --inactive", `trustGuestRxFilters='yes'`), sameRun, onLAN),
			},
			{Config: node(upon), PlanOnly: true}, // what is left out stays
			{ // drift
				PreConfig: func() {
					virsh(t, "define", writeFile(t, strings.Replace(virsh(t, "dumpxml", "--inactive", "acc"), "mode='bridge'", "mode='vepa'", 1)))
				},
				Config: node(upon), ConfigPlanChecks: updates(),
				Check: resource.ComposeTestCheckFunc(says(t, "dumpxml acc --inactive", `<source dev='eno1' mode='bridge'/>`), sameRun, onLAN),
			},
			{ // another mode while it runs: the card is plugged out and in again
				Config: node(strings.Replace(upon, "eno1\"", "eno1\", mode = \"private\"", 1)), ConfigPlanChecks: updates(),
				Check: resource.ComposeTestCheckFunc(says(t, "dumpxml acc", `mode='private'`), says(t, "dumpxml acc --inactive", `mode='private'`), sameRun, onLAN),
			},
			{
				Config: node(", network = \"NET\", ip = \"10.77.0.1\""), ConfigPlanChecks: updates(),
				Check: resource.ComposeTestCheckFunc(lacks(t, "dumpxml acc", `type='direct'`, `trustGuest`), sameRun, answers(t, "/__state", "10.77.0.1")),
			},
		},
	})
}
