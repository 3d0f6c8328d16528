package externalbridge_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

func TestAccExternalBridgeKeptByNetworkd(t *testing.T)       { keptOverReboots(t, "systemd-networkd") }
func TestAccExternalBridgeKeptByNetworkManager(t *testing.T) { keptOverReboots(t, "networkmanager") }
func TestAccExternalBridgeKeptByIfupdown(t *testing.T)       { keptOverReboots(t, "ifupdown") }
func TestAccExternalBridgeKeptByNetplan(t *testing.T)        { keptOverReboots(t, "netplan") }

// withNames are the scripts that give eth1, as acctest.LeaveToManager left it, a name server and a search domain.
var withNames = map[string]string{
	"systemd-networkd": `printf 'DNS=10.0.0.153\nDomains=lan.example\n' >>/etc/systemd/network/10-eth1.network; networkctl reload; networkctl reconfigure eth1`,
	"networkmanager":   `nmcli connection modify lan ipv4.dns 10.0.0.153 ipv4.dns-search lan.example; nmcli connection up lan >/dev/null`,
	"ifupdown":         `sed -i 's/^  address.*/&\n  dns-nameservers 10.0.0.153\n  dns-search lan.example/' /etc/network/interfaces.d/lan`,
	"netplan": `sed -i 's/^      addresses:.*/&\n      nameservers: { addresses: [10.0.0.153], search: [lan.example] }/' /etc/netplan/50-lan.yaml
netplan generate; networkctl reload; networkctl reconfigure eth1`,
}

// namesMoved wants the name server and the search domain to be the bridge's, as its manager says.
func namesMoved(t *testing.T, machine string) resource.TestCheckFunc {
	return func(*terraform.State) error {
		now := acctest.On(t, machine, "sh", "-c", "networkctl status accbr1 --no-pager; nmcli device show accbr1; ifquery accbr1 2>/dev/null; :")
		if !strings.Contains(now, "10.0.0.153") || !strings.Contains(now, "lan.example") {
			return fmt.Errorf("accbr1 has not got the name servers of eth1:\n%s", now)
		}
		return nil
	}
}

// keptOverReboots is the life of a bridge on a machine whose network a manager keeps.
func keptOverReboots(t *testing.T, backend string) {
	acctest.InSandbox(t)
	machine := acctest.TakeMachine(t)
	address, listedAddress := acctest.OnLAN(machine, 101), acctest.OnLAN(machine, 181)
	acctest.LeaveToManager(t, machine, backend)
	acctest.On(t, machine, "sh", "-c", withNames[backend])
	acctest.Eventually(t, "eth1 has its address and its route again", func() bool {
		now := acctest.On(t, machine, "sh", "-c", "ip -br address show dev eth1; ip route")
		return strings.Contains(now, address+"/24") && (backend == "systemd-networkd" || strings.Contains(now, "10.77.0.0/16"))
	})
	before := acctest.NetworkOf(t, machine)
	same := func(*terraform.State) error {
		if after := acctest.NetworkOf(t, machine); after != before {
			return fmt.Errorf("left:\n%s\nbefore:\n%s", after, before)
		}
		return nil
	}
	reached := func(address string) resource.TestCheckFunc {
		return func(*terraform.State) error {
			if out, err := acctest.Try(t.Context(), "lan-client", "ping", "-c", "1", "-i", "0.3", "-w", "3", address); err != nil {
				return fmt.Errorf("from the LAN: %s", out)
			}
			if got := acctest.On(t, machine, "ip", "-br", "-4", "address", "show", "dev", "accbr1"); !strings.Contains(got, address+"/24") {
				return fmt.Errorf("accbr1 has %q, want %s", got, address)
			}
			return nil
		}
	}
	routes := func(want ...string) resource.TestCheckFunc {
		return func(*terraform.State) error {
			now := acctest.On(t, machine, "ip", "route")
			for _, w := range append(want, "default via 10.0.100.254 dev eth0") {
				if !strings.Contains(now, w) {
					return fmt.Errorf("no %q in\n%s", w, now)
				}
			}
			return nil
		}
	}
	inherited, listed := routes(), routes("default via 10.19.41.254 dev accbr1")
	if backend != "systemd-networkd" {
		inherited = routes("10.77.0.0/16 via 10.19.41.254 dev accbr1")
	}
	on := func(extra string) string {
		return strings.ReplaceAll(config(fmt.Sprintf("host = %q\n%s", acctest.Endpoint(machine), extra)), "eno1", "eth1")
	}
	// Some managers are still at it when a machine that just started answers.
	restart := func(checks ...resource.TestCheckFunc) func() {
		return func() {
			acctest.Reboot(t, machine)
			acctest.Eventually(t, "accbr1 is as it was before the reboot", func() bool {
				return resource.ComposeTestCheckFunc(checks...)(nil) == nil
			})
		}
	}
	list := on("addresses = [\"" + listedAddress + "/24\"]\ngateway = \"10.19.41.254\"\nmetric = 4242\nnameservers = [\"10.0.0.100\"]\nsearch = [\"okd.example\"]\nmtu = 1400\nrollback_timeout = 40")
	t.Cleanup(func() { unplug(t, machine) })
	plugged := func(before func()) func() {
		return func() { before(); plug(t, machine) }
	}
	const name = "virtcluster_external_bridge.test"
	survived := talkOverTheMove(t, machine)
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		CheckDestroy: resource.ComposeTestCheckFunc(same, func(*terraform.State) error {
			// That of what no manager keeps is the one of locks too, which stays until a reboot.
			if left := acctest.On(t, machine, "sh", "-c", "ls -d /var/lib/virtcluster/hostnet 2>/dev/null || :"); left != "" {
				return fmt.Errorf("the directory of records is left: %s", left)
			}
			return nil
		}),
		Steps: []resource.TestStep{
			{Config: on(""), Check: resource.ComposeTestCheckFunc(
				resource.TestCheckResourceAttr(name, "active_backend", backend), reached(address), inherited, namesMoved(t, machine), survived)},
			{PreConfig: plugged(restart(reached(address), inherited)), Config: on(""), PlanOnly: true},
			{Config: list, Check: resource.ComposeTestCheckFunc(reached(listedAddress), listed, carriesGuest(t, machine))},
			{ResourceName: name, ImportState: true, ImportStateVerify: true},
			{PreConfig: restart(reached(listedAddress), listed), Config: list, PlanOnly: true},
			{Config: on(""), Check: resource.ComposeTestCheckFunc(reached(address), inherited)},
		},
	})
	// Whatever the files make at a start, they are what they were; that nothing else makes more, one manager shows.
	if backend == "netplan" {
		acctest.Reboot(t, machine)
		acctest.Eventually(t, "what was before is there after a reboot", func() bool { return same(nil) == nil })
	}
}
