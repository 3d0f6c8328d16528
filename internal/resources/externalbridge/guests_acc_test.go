package externalbridge_test

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

// withDHCP are what bridgesOfPersons say otherwise where the bridge asks for its address, old and new in turn; and a port of
// NetworkManager's names its bridge there by the device, not by the connection.
var withDHCP = map[string][]string{
	"networkmanager": {"ipv4.method manual ipv4.addresses 10.19.41.101/24", "ipv4.method auto ipv4.never-default yes",
		"master $(nmcli -g connection.uuid connection show lanbridge)", "master accbr1"},
	"ifupdown": {"inet static", "inet dhcp", "  address 10.19.41.101/24\n", ""},
	"netplan":  {"addresses: [10.19.41.101/24]", "dhcp4: true"},
}

// plugGuest plugs a guest with the address $1 into accbr1, as libvirt does: by a tap, which ends with the process that holds it, and
// that is kept apart from other such ports. Its hardware address stays the same, or its neighbours would look for the one before.
const plugGuest = `ip netns add accguest
systemd-run --quiet --collect --unit=accguest socat TUN,tun-type=tap,tun-name=acctap0,iff-no-pi TUN,tun-type=tap,tun-name=accguest0,iff-no-pi
n=0
until ip link show dev acctap0 >/dev/null 2>&1 && ip link show dev accguest0 >/dev/null 2>&1; do n=$((n + 1)); [ $n -lt 100 ] || exit 1; sleep 0.1; done
ip link set accguest0 netns accguest
ip -n accguest link set accguest0 address "$2"
ip -n accguest address add "$1/24" dev accguest0
ip -n accguest link set accguest0 up
ip link set acctap0 master accbr1 up
bridge link set dev acctap0 isolated on`

const unplugGuest = `systemctl stop accguest 2>/dev/null; ip netns del accguest 2>/dev/null; :`

// guestOn is the address of the guest of a machine.
func guestOn(machine string) string { return acctest.OnLAN(machine, 171) }

func plug(t *testing.T, machine string) {
	t.Helper()
	mac := "02:00:0a:13:2a:0" + strings.TrimPrefix(machine, "svc-")
	acctest.On(t, machine, "sh", "-ec", plugGuest, "sh", guestOn(machine), mac)
	acctest.Eventually(t, "the guest answers", func() bool { return askGuestOnce(t, machine) == nil })
}

func unplug(t *testing.T, machine string) {
	t.Helper()
	if out, err := acctest.Try(context.Background(), machine, "sh", "-c", unplugGuest); err != nil {
		t.Error(out)
	}
}

func askGuestOnce(t *testing.T, machine string) error {
	t.Helper()
	_, err := acctest.Try(t.Context(), "lan-client", "ping", "-c", "1", "-i", "0.2", "-w", "3", guestOn(machine))
	return err
}

// carriesGuest wants the guest to be in the machine's accbr1, and to answer.
func carriesGuest(t *testing.T, machine string) resource.TestCheckFunc {
	return func(*terraform.State) error {
		if port := acctest.On(t, machine, "bridge", "-d", "link", "show", "dev", "acctap0"); !strings.Contains(port, "master accbr1") || !strings.Contains(port, "isolated on") {
			return fmt.Errorf("the guest is not in accbr1 any more as it was:\n%s", port)
		}
		return askGuestOnce(t, machine)
	}
}

// askGuest asks the guest from the LAN until it is told to end, and says then for how long it did not answer at most.
func askGuest(t *testing.T, machine string) (longestSilence func() time.Duration) {
	ctx, end := context.WithCancel(t.Context())
	longest := make(chan time.Duration, 1)
	go func() {
		var silence time.Duration
		for last := time.Now(); ctx.Err() == nil; time.Sleep(100 * time.Millisecond) {
			if askGuestOnce(t, machine) == nil {
				silence, last = max(silence, time.Since(last)), time.Now()
			}
		}
		longest <- silence
	}()
	return func() time.Duration { end(); return <-longest }
}

// A bridge that a person's files make, with an address by DHCP and a guest in it, is imported, changed and given back: it goes on
// asking for its lease, and the guest stays in it and can be reached. What systemd-networkd does here netplan shows.
func TestAccAdoptedBridgeKeepsItsLeaseAndItsGuests(t *testing.T) {
	acctest.InSandbox(t)
	node := acctest.KnownServiceNodes(t, 1)[0]
	acctest.ServeDHCP(t)
	for _, backend := range []string{"ifupdown", "netplan", "networkmanager"} {
		t.Run(backend, func(t *testing.T) {
			acctest.LeaveToManager(t, "svc-1", backend)
			t.Cleanup(func() {
				unplug(t, "svc-1")
				if out, err := acctest.Try(context.Background(), "svc-1", "sh", "-c", removeBridgeOfPerson); err != nil {
					t.Error(out)
				}
			})
			person := bridgesOfPersons[backend]
			for i := 0; i < len(withDHCP[backend]); i += 2 {
				if !strings.Contains(person, withDHCP[backend][i]) {
					t.Fatalf("no %q in %s", withDHCP[backend][i], person)
				}
				person = strings.ReplaceAll(person, withDHCP[backend][i], withDHCP[backend][i+1])
			}
			acctest.On(t, "svc-1", "sh", "-c", person)
			leased := func() bool {
				now := acctest.On(t, "svc-1", "sh", "-c", "ip -o -4 address show dev accbr1 scope global; ip -br link show master accbr1")
				return strings.Count(now, " inet ") == 1 && strings.Contains(now, " 10.19.41.15") && strings.Contains(now, "eth1")
			}
			acctest.Eventually(t, "the person's bridge has a lease", leased)
			plug(t, "svc-1")
			// The lease may be another one, as the server likes.
			files := func() string {
				var kept []string
				for line := range strings.Lines(acctest.NetworkOf(t, "svc-1")) {
					if !strings.Contains(line, " 10.19.41.") {
						kept = append(kept, line)
					}
				}
				return strings.Join(kept, "")
			}
			before := files()
			longestSilence := askGuest(t, "svc-1")
			carries := func(what string, has func() bool) resource.TestCheckFunc {
				return func(s *terraform.State) error {
					acctest.Eventually(t, what, has)
					return carriesGuest(t, "svc-1")(s)
				}
			}
			listed := func() bool {
				now := acctest.On(t, "svc-1", "ip", "-o", "-4", "address", "show", "dev", "accbr1", "scope", "global")
				return strings.Count(now, " inet ") == 1 && strings.Contains(now, " 10.19.41.181/24")
			}
			on := func(extra string) string {
				return strings.ReplaceAll(config(fmt.Sprintf("host = \"ssh://root@%s\"\nrollback_timeout = 40\n%s", node, extra)), "eno1", "eth1")
			}
			imported := strings.ReplaceAll(on(""), "rollback_timeout = 40\n", "")
			const name = "virtcluster_external_bridge.test"
			update := resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectResourceAction(name, plancheck.ResourceActionUpdate)}}
			steps := []resource.TestStep{
				{Config: imported, ResourceName: name, ImportState: true, ImportStateId: "ssh://root@" + node + "#accbr1", ImportStatePersist: true},
				{Config: imported, PlanOnly: true},
				{Config: on("addressing = \"dhcp\"\nmetric = 4242"), ConfigPlanChecks: update, Check: resource.ComposeTestCheckFunc(
					resource.TestCheckResourceAttr(name, "active_backend", backend), carries("the bridge has its lease", leased))},
			}
			if backend == "ifupdown" {
				// Nothing would ask for its lease again before the machine starts.
				steps = append(steps, resource.TestStep{Config: on(`addresses = ["10.19.41.181/24"]`), PlanOnly: true, ExpectError: regexp.MustCompile(`(?s)made\s+by\s+files\s+of\s+ifupdown`)})
			} else {
				steps = append(steps, resource.TestStep{Config: on(`addresses = ["10.19.41.181/24"]`), ConfigPlanChecks: update, Check: carries("the bridge has the address that is listed alone", listed)})
			}
			resource.Test(t, resource.TestCase{
				ProtoV6ProviderFactories: acctest.Providers,
				Steps:                    steps,
				CheckDestroy: func(s *terraform.State) error {
					if err := carries("the person's bridge has a lease again", leased)(s); err != nil {
						return err
					}
					if now := files(); now != before {
						return fmt.Errorf("left:\n%s\nbefore:\n%s", now, before)
					}
					silence := longestSilence()
					t.Logf("the guest was silent for %s at most", silence)
					if silence > 5*time.Second {
						return fmt.Errorf("the guest was not answered for %s", silence)
					}
					return nil
				},
			})
		})
	}
}
