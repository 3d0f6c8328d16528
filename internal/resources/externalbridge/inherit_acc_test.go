package externalbridge_test

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// advertise has the machine lan-client be a router that advertises itself and 2001:db8:41::/64 on the LAN until the test ends.
func advertise(t *testing.T) {
	t.Helper()
	t.Cleanup(func() {
		_, _ = acctest.Try(context.Background(), "lan-client", "sh", "-c", "kill $(cat /run/accra.pid); rm -f /run/accra.pid; ip address del 2001:db8:41::1/64 dev eth0")
	})
	acctest.On(t, "lan-client", "sh", "-ec", `ip address add 2001:db8:41::1/64 dev eth0 nodad
dnsmasq --conf-file=/dev/null --port=0 --interface=eth0 --bind-dynamic --user=root --pid-file=/run/accra.pid --enable-ra --dhcp-range=2001:db8:41::,ra-only,64,600 --ra-param=eth0,300,600`)
}

// addresses6 are those of a device that it has by router advertisements.
func addresses6(t *testing.T, machine, device string) string {
	t.Helper()
	return acctest.On(t, machine, "sh", "-c", "ip -6 -o address show dev "+device+" scope global dynamic | awk '{ print $4 }'")
}

// What keepalived holds stays with it, and what routers advertise comes back on the bridge by itself.
func TestAccExternalBridgeInheritsWhatIsTheInterfacesOwn(t *testing.T) {
	acctest.InSandbox(t)
	node := acctest.KnownServiceNodes(t, 1)[0]
	acctest.LeaveToManager(t, "svc-1", "systemd-networkd")
	advertise(t)
	t.Cleanup(func() {
		_, _ = acctest.Try(context.Background(), "svc-1", "sh", "-c", "systemctl stop keepalived; rm -f /etc/keepalived/keepalived.conf")
	})
	acctest.On(t, "svc-1", "sh", "-ec", `sed -i 's/^LinkLocalAddressing=no/LinkLocalAddressing=ipv6/; s/^IPv6AcceptRA=no/IPv6AcceptRA=yes/' /etc/systemd/network/10-eth1.network
networkctl reload
cat >/etc/keepalived/keepalived.conf <<END
vrrp_instance acc {
  interface eth1
  virtual_router_id 77
  priority 100
  advert_int 1
  virtual_ipaddress {
    10.19.41.190/24
  }
}
END
systemctl restart keepalived`)
	var advertised string
	acctest.Eventually(t, "eth1 has an address of keepalived's, and one that a router advertises", func() bool {
		advertised = addresses6(t, "svc-1", "eth1")
		return advertised != "" && strings.Contains(acctest.On(t, "svc-1", "ip", "address", "show", "dev", "eth1"), "10.19.41.190/24")
	})
	inherited := func(*terraform.State) error {
		acctest.Eventually(t, "the bridge has the address that a router advertises", func() bool { return addresses6(t, "svc-1", "accbr1") == advertised })
		if got := acctest.On(t, "svc-1", "ip", "-br", "-4", "address", "show", "dev", "accbr1"); !strings.Contains(got, "10.19.41.101/24") || strings.Contains(got, "10.19.41.190") {
			return fmt.Errorf("the bridge has %s", got)
		}
		if out, err := acctest.Try(t.Context(), "svc-1", "grep", "-rE", "10.19.41.190|2001:db8", "/etc/systemd/network", "/var/lib/virtcluster/hostnet"); err == nil {
			return fmt.Errorf("made permanent: %s", out)
		}
		if got := acctest.On(t, "svc-1", "ip", "-6", "route", "show", "default"); !strings.Contains(got, "dev accbr1 proto ra") || strings.Contains(got, "eth1") {
			return fmt.Errorf("the default routes are %s", got)
		}
		return nil
	}
	on := strings.ReplaceAll(config(fmt.Sprintf("host = \"ssh://root@%s\"\nrollback_timeout = 40", node)), "eno1", "eth1")
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		CheckDestroy: func(*terraform.State) error {
			acctest.Eventually(t, "eth1 has the address that a router advertises again", func() bool { return addresses6(t, "svc-1", "eth1") == advertised })
			return nil
		},
		Steps: []resource.TestStep{
			{Config: on, Check: inherited},
		},
	})
}

// Where nothing but the kernel heeds routers, it does so on the bridge, and not any more on the interface in it, until that is alone again.
func TestAccExternalBridgeHeedsRouters(t *testing.T) {
	acctest.InSandbox(t)
	advertise(t)
	var advertised string
	acctest.On(t, "hypervisor", "sh", "-ec", "for a in $(ip -6 -o address show dev eno1 scope link | awk '{ print $4 }'); do ip address del $a dev eno1; ip address add $a dev eno1; done")
	acctest.Eventually(t, "eno1 has the address that a router advertises", func() bool {
		advertised = addresses6(t, "hypervisor", "eno1")
		return advertised != ""
	})
	t.Cleanup(func() {
		_, _ = acctest.Try(context.Background(), "hypervisor", "sh", "-c", "ip -6 address flush dev eno1 scope global dynamic; ip -6 route flush dev eno1 proto ra")
	})
	alone := func(with, without string) {
		acctest.Eventually(t, with+" alone has the address and the route that a router advertises", func() bool {
			routes := acctest.On(t, "hypervisor", "sh", "-c", "ip -6 route | sed /^fe80/d")
			return addresses6(t, "hypervisor", with) == advertised && strings.Contains(routes, "dev "+with+" proto ra") && !strings.Contains(routes, without)
		})
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		CheckDestroy:             func(*terraform.State) error { alone("eno1", "accbr1"); return nil },
		Steps: []resource.TestStep{
			{Config: config(""), Check: func(*terraform.State) error { alone("accbr1", "eno1"); return nil }},
		},
	})
}

// A port that a person put into a bridge of their own is not pulled back.
func TestAccExternalBridgeLeavesAPortThatSomebodyMoved(t *testing.T) {
	acctest.InSandbox(t)
	t.Cleanup(func() { _, _ = acctest.Try(context.Background(), "hypervisor", "ip", "link", "del", "accother") })
	move := func(to string) {
		acctest.On(t, "hypervisor", "sh", "-ec", "ip link show dev accother >/dev/null 2>&1 || ip link add name accother type bridge; ip link set eno1 master "+to)
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			{Config: config("")},
			{PreConfig: func() { move("accother") }, Config: config(""), ExpectError: regexp.MustCompile(`"eno1"\s+is\s+in\s+bridge\s+"accother"\s+now`)},
			{
				PreConfig: func() {
					if now := acctest.On(t, "hypervisor", "ip", "-o", "link", "show", "dev", "eno1"); !strings.Contains(now, " master accother ") {
						t.Errorf("eno1 is taken from accother: %s", now)
					}
					acctest.On(t, "hypervisor", "ip", "link", "set", "eno1", "nomaster")
				},
				Config: config(""), PlanOnly: true, ExpectNonEmptyPlan: true,
			},
			{Config: config(""), Check: func(*terraform.State) error {
				if now := acctest.On(t, "hypervisor", "ip", "-o", "link", "show", "dev", "eno1"); !strings.Contains(now, " master accbr1 ") {
					return fmt.Errorf("eno1 is not in the bridge again: %s", now)
				}
				return nil
			}},
		},
	})
}
