package externalbridge_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// bridgesOfPersons are the scripts that make a bridge of svc-1's eth1, which acctest.LeaveToManager left to a manager, as a person would;
// personsBridge is one for whatever machine.
var bridgesOfPersons = map[string]string{
	"systemd-networkd": `cd /etc/systemd/network
printf '[NetDev]\nName=accbr1\nKind=bridge\n' >20-accbr1.netdev
printf '[Match]\nName=accbr1\n[Network]\nAddress=10.19.41.101/24\nLinkLocalAddressing=no\nIPv6AcceptRA=no\n' >20-accbr1.network
printf '[Match]\nName=eth1\n[Network]\nBridge=accbr1\nLinkLocalAddressing=no\n' >10-eth1.network
networkctl reload; networkctl reconfigure eth1`,
	"networkmanager": `nmcli connection delete lan
nmcli connection add type bridge con-name lanbridge ifname accbr1 bridge.stp no ipv4.method manual ipv4.addresses 10.19.41.101/24 ipv6.method disabled
nmcli connection add type ethernet con-name lanport ifname eth1 master $(nmcli -g connection.uuid connection show lanbridge)
nmcli connection up lanport`,
	"ifupdown": `ifdown eth1
cat >/etc/network/interfaces.d/lan <<END
auto accbr1
iface eth1 inet manual
iface accbr1 inet static
  pre-up ip link add name accbr1 type bridge
  pre-up ip link set dev eth1 master accbr1 up
  address 10.19.41.101/24
  post-down ip link del dev accbr1
END
ifup accbr1`,
	"netplan": `cat >/etc/netplan/50-lan.yaml <<END
network:
  version: 2
  ethernets:
    eth1: { link-local: [] }
  bridges:
    accbr1: { interfaces: [eth1], addresses: [10.19.41.101/24], link-local: [], parameters: { stp: false } }
END
netplan generate; networkctl reload; networkctl reconfigure eth1`,
}

func personsBridge(machine, backend string) string {
	return strings.ReplaceAll(bridgesOfPersons[backend], acctest.OnLAN("svc-1", 101), acctest.OnLAN(machine, 101))
}

const removeBridgeOfPerson = `! grep -qs "^accbr1=" /run/network/ifstate || ifdown --force accbr1
nmcli connection delete lanport lanbridge 2>/dev/null
rm -f /etc/systemd/network/20-accbr1.*; ip link del dev accbr1 2>/dev/null; :`

// lookAtManagers prints what a machine has of devices and who may have made it so, for a bridge that does not stand.
const lookAtManagers = `ip address; ip route; bridge link; networkctl list --no-legend --no-pager; nmcli device; tail -n +1 /run/network/ifstate /etc/network/interfaces.d/*
pgrep -af 'dhclient|NetworkManager|ifup|ifdown'; journalctl --no-pager --since=-3min | tail -n 60; :`

// A bridge that a person's files make is imported, changed in the same manager's way, and given back as it was. The files stay.
func TestAccBridgeOfAPersonIsImported(t *testing.T) {
	acctest.InSandbox(t)
	for _, backend := range []string{"ifupdown", "netplan", "networkmanager", "systemd-networkd"} {
		t.Run(backend, func(t *testing.T) {
			machine := acctest.TakeMachine(t)
			had, listed := acctest.OnLAN(machine, 101)+"/24", acctest.OnLAN(machine, 181)+"/24"
			acctest.LeaveToManager(t, machine, backend)
			t.Cleanup(func() {
				if out, err := acctest.Try(context.Background(), machine, "sh", "-c", removeBridgeOfPerson); err != nil {
					t.Error(out)
				}
			})
			acctest.On(t, machine, "sh", "-c", personsBridge(machine, backend))
			addresses := func() string {
				return acctest.On(t, machine, "sh", "-c", "ip -br -4 address show dev accbr1 2>/dev/null; ip -br link show master accbr1 2>/dev/null; :")
			}
			stands := func(address string) resource.TestCheckFunc {
				return func(*terraform.State) error {
					defer func() {
						if t.Failed() {
							t.Log(acctest.Try(context.Background(), machine, "sh", "-c", lookAtManagers))
						}
					}()
					acctest.Eventually(t, "accbr1 has "+address+" alone, and eth1 in it", func() bool {
						now := addresses()
						return strings.Count(now, "10.19.41.") == 1 && strings.Contains(now, address) && strings.Contains(now, "eth1")
					})
					return nil
				}
			}
			_ = stands(had)(nil)
			before := acctest.NetworkOf(t, machine)
			on := func(extra string) string {
				return strings.ReplaceAll(config(fmt.Sprintf("host = %q\nrollback_timeout = 40\n%s", acctest.Endpoint(machine), extra)), "eno1", "eth1")
			}
			imported, changed := strings.ReplaceAll(on(""), "rollback_timeout = 40\n", ""), on(fmt.Sprintf("addresses = [%q]\nmtu = 1400", listed))
			if backend == "netplan" {
				changed = on(fmt.Sprintf("addresses = [%q]", listed))
			}
			const name = "virtcluster_external_bridge.test"
			resource.Test(t, resource.TestCase{
				ProtoV6ProviderFactories: acctest.Providers,
				CheckDestroy: func(*terraform.State) error {
					acctest.Eventually(t, "the person's bridge is as it was:\n"+before, func() bool {
						now := acctest.NetworkOf(t, machine)
						if now != before {
							t.Log(now)
						}
						return now == before
					})
					return nil
				},
				Steps: []resource.TestStep{
					{Config: imported, ResourceName: name, ImportState: true, ImportStateId: acctest.Endpoint(machine) + "#accbr1", ImportStatePersist: true,
						ImportStateCheck: func(states []*terraform.InstanceState) error {
							if len(states) != 1 || states[0].Attributes["active_backend"] != backend || states[0].Attributes["active_addresses.0"] != had {
								return fmt.Errorf("imported %v", states)
							}
							return nil
						}},
					{Config: imported, PlanOnly: true},
					{Config: changed, Check: resource.ComposeTestCheckFunc(resource.TestCheckResourceAttr(name, "active_backend", backend), stands(listed)),
						ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectResourceAction(name, plancheck.ResourceActionUpdate)}}},
					{PreConfig: func() {
						acctest.Reboot(t, machine)
						_ = stands(listed)(nil)
					}, Config: changed, PlanOnly: true},
				},
			})
		})
	}
}
