package externalbridge_test

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// byDHCP are the scripts that have each manager's eth1, as acctest.LeaveToManager left it, ask for its address.
var byDHCP = map[string]string{
	"systemd-networkd": `printf '[Match]\nName=eth1\n[Network]\nDHCP=ipv4\nLinkLocalAddressing=no\nIPv6AcceptRA=no\n[DHCPv4]\nUseRoutes=no\n' >/etc/systemd/network/10-eth1.network
networkctl reload`,
	"networkmanager": `nmcli connection modify lan ipv4.method auto ipv4.addresses '' ipv4.routes '' ipv4.never-default yes; nmcli connection up lan >/dev/null`,
	"ifupdown": `ifdown eth1 2>/dev/null; ip addr flush dev eth1
printf 'auto eth1\niface eth1 inet dhcp\n' >/etc/network/interfaces.d/lan; ifup eth1 >/dev/null 2>&1`,
	"netplan": `sed -i 's/addresses:.*/dhcp4: true/; s/routes:.*/dhcp4-overrides: { use-routes: false }/' /etc/netplan/50-lan.yaml
netplan generate; networkctl reload`,
}

// What an interface has by DHCP the bridge asks for itself, the lease is renewed on it, and the old client lets go.
func TestAccExternalBridgeTakesTheLeaseOver(t *testing.T) {
	acctest.InSandbox(t)
	node := acctest.KnownServiceNodes(t, 1)[0]
	log := acctest.ServeDHCP(t)
	for _, backend := range slices.Sorted(maps.Keys(byDHCP)) {
		t.Run(backend, func(t *testing.T) {
			acctest.LeaveToManager(t, "svc-1", backend)
			mac := acctest.On(t, "svc-1", "sh", "-c", "ip -br link show dev eth1 | awk '{ print $3 }'")
			acctest.On(t, "svc-1", "sh", "-c", byDHCP[backend])
			leased := func(device string) string {
				return acctest.On(t, "svc-1", "sh", "-c", "ip -o -4 address show dev "+device+" scope global | awk '{ print $4 }'")
			}
			acctest.Eventually(t, "eth1 has a lease", func() bool {
				return strings.HasPrefix(leased("eth1"), "10.19.41.1") && leased("eth1") != "10.19.41.101/24"
			})
			acks := func() int {
				text, _ := os.ReadFile(log)
				return strings.Count(string(text), "DHCPACK(eno1) ") - strings.Count(string(text), "DHCPACK(eno1) none")
			}
			renewed := func(*terraform.State) error {
				before := acks()
				acctest.Eventually(t, "the bridge's lease is renewed", func() bool { return acks() >= before+2 })
				return nil
			}
			moves := func(*terraform.State) error {
				if leased("eth1") != "" {
					return fmt.Errorf("eth1 still has %s", leased("eth1"))
				}
				text, _ := os.ReadFile(log)
				var last string
				for line := range strings.Lines(string(text)) {
					if strings.Contains(line, "DHCPACK(eno1) ") {
						last = line
					}
				}
				_, after, _ := strings.Cut(last, "DHCPACK(eno1) ")
				address, _, _ := strings.Cut(after, " ")
				if !strings.Contains(last, mac) || !strings.HasPrefix(leased("accbr1"), address+"/") {
					return fmt.Errorf("the last lease is %q, and accbr1 has %s:\n%s", last, leased("accbr1"), text)
				}
				// No client is left that asks for eth1, and one at most of ifupdown's asks for the bridge.
				if out, err := acctest.Try(t.Context(), "svc-1", "sh", "-c", "pgrep -af '^dhclient.* eth1$'"); err == nil {
					return fmt.Errorf("the old client lives: %s", out)
				}
				if out, _ := acctest.Try(t.Context(), "svc-1", "sh", "-c", "pgrep -af '^dhclient.* accbr1$'"); strings.Count(out, " accbr1") > 1 {
					return fmt.Errorf("two clients ask for the bridge's address: %s", out)
				}
				return nil
			}
			// A client that is set up anew may get another lease, and then has the one before for a moment.
			moved := func(s *terraform.State) (err error) {
				for began := time.Now(); ; time.Sleep(200 * time.Millisecond) {
					if err = moves(s); err == nil || time.Since(began) > 2*time.Minute {
						return err
					}
				}
			}
			on := func(extra string) string {
				return strings.ReplaceAll(config(fmt.Sprintf("host = \"ssh://root@%s\"\nmetric = 4242\nrollback_timeout = 40\n%s", node, extra)), "eno1", "eth1")
			}
			inherit := strings.ReplaceAll(on(""), "metric = 4242\n", "")
			resource.Test(t, resource.TestCase{
				ProtoV6ProviderFactories: acctest.Providers,
				CheckDestroy: func(*terraform.State) error {
					acctest.Eventually(t, "eth1 has a lease again", func() bool { return strings.HasPrefix(leased("eth1"), "10.19.41.1") })
					if out, err := acctest.Try(t.Context(), "svc-1", "sh", "-c", "pgrep -af '^dhclient.* accbr1$' || grep -r accbr1 /run/network"); err == nil {
						return fmt.Errorf("left of the bridge: %s", out)
					}
					return nil
				},
				Steps: []resource.TestStep{
					{Config: inherit, Check: resource.ComposeTestCheckFunc(resource.TestCheckResourceAttr("virtcluster_external_bridge.test", "active_backend", backend), renewed, moved)},
					{Config: on(`addressing = "dhcp"`), Check: moved},
				},
			})
		})
	}
}
