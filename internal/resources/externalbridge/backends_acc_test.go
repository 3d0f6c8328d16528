package externalbridge_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// managed are the scripts that leave svc-1's eth1 to each network manager; its address is 10.19.41.101/24.
var managed = map[string]string{
	"systemd-networkd": ":",
	"networkmanager": `rm /etc/systemd/network/10-eth1.network; networkctl reload
cat >/etc/NetworkManager/system-connections/lan.nmconnection <<END
[connection]
id=lan
uuid=0ba2d1c0-6f0c-4d4e-a05f-8b7b8f6e1d11
type=ethernet
interface-name=eth1
[ipv4]
method=manual
address1=10.19.41.101/24
route1=10.77.0.0/16,10.19.41.254
[ipv6]
method=disabled
END
chmod 600 /etc/NetworkManager/system-connections/lan.nmconnection
systemctl enable --now NetworkManager 2>/dev/null
until ip -br address show dev eth1 | grep -q 10.19.41.101; do sleep 0.1; done`,
	"ifupdown": `rm /etc/systemd/network/10-eth1.network; networkctl reload; ip addr flush dev eth1
cat >/etc/network/interfaces.d/lan <<END
# The LAN, as an administrator wrote it.
auto lo eth1
iface eth1 inet static
  address 10.19.41.101/24
  up ip route add 10.77.0.0/16 via 10.19.41.254
END
systemctl enable networking 2>/dev/null
ifup eth1`,
}

// unmanaged gives the machine back as the sandbox made it. Its argument is a copy of the .network file.
const unmanaged = `systemctl disable --now NetworkManager networking 2>/dev/null; rm -f /etc/NetworkManager/system-connections/lan.nmconnection /etc/network/interfaces.d/lan
cp /root/10-eth1.network /etc/systemd/network/; ip addr flush dev eth1; networkctl reload; networkctl reconfigure eth1`

func TestAccExternalBridgeKeptByNetworkd(t *testing.T)       { keptOverReboots(t, "systemd-networkd") }
func TestAccExternalBridgeKeptByNetworkManager(t *testing.T) { keptOverReboots(t, "networkmanager") }
func TestAccExternalBridgeKeptByIfupdown(t *testing.T)       { keptOverReboots(t, "ifupdown") }

// keptOverReboots is the life of a bridge on a machine whose network a manager keeps.
func keptOverReboots(t *testing.T, backend string) {
	acctest.InSandbox(t)
	node := acctest.ServiceNodes(t, 1)[0]
	acctest.On(t, "hypervisor", "sh", "-c", "ssh-keyscan -t ed25519 "+node+" >>/root/.ssh/known_hosts")
	acctest.On(t, "svc-1", "sh", "-c", "cp /etc/systemd/network/10-eth1.network /root; "+managed[backend])
	t.Cleanup(func() {
		if out, err := acctest.Try(context.Background(), "svc-1", "sh", "-c", unmanaged); err != nil {
			t.Error(out)
		}
	})
	const look = `ip -br -4 address | sed 's/@if[0-9]*//' | awk '{ $1 = $1 } 1'; ip route; cd /etc && find systemd/network NetworkManager/system-connections network -type f | sort | xargs md5sum; find systemd/system -name "virtcluster*"; find /var/lib/virtcluster -type f 2>/dev/null || :`
	network := func() string { return acctest.On(t, "svc-1", "sh", "-c", look) }
	before := network()
	same := func(*terraform.State) error {
		if after := network(); after != before {
			return fmt.Errorf("left:\n%s\nbefore:\n%s", after, before)
		}
		return nil
	}
	reached := func(address string) resource.TestCheckFunc {
		return func(*terraform.State) error {
			if out, err := acctest.Try(t.Context(), "lan-client", "ping", "-c", "3", "-i", "0.3", "-W", "2", address); err != nil {
				return fmt.Errorf("from the LAN: %s", out)
			}
			if got := acctest.On(t, "svc-1", "ip", "-br", "-4", "address", "show", "dev", "accbr1"); !strings.Contains(got, address+"/24") {
				return fmt.Errorf("accbr1 has %q, want %s", got, address)
			}
			return nil
		}
	}
	routes := func(want ...string) resource.TestCheckFunc {
		return func(*terraform.State) error {
			now := acctest.On(t, "svc-1", "ip", "route")
			for _, w := range append(want, "default via 10.0.100.254 dev eth0") {
				if !strings.Contains(now, w) {
					return fmt.Errorf("no %q in\n%s", w, now)
				}
			}
			return nil
		}
	}
	inherited := routes()
	if backend != "systemd-networkd" {
		inherited = routes("10.77.0.0/16 via 10.19.41.254 dev accbr1")
	}
	on := func(extra string) string {
		return strings.ReplaceAll(config(fmt.Sprintf("host = \"ssh://root@%s\"\n%s", node, extra)), "eno1", "eth1")
	}
	list := on("addresses = [\"10.19.41.181/24\"]\ngateway = \"10.19.41.254\"\nmetric = 4242\nnameservers = [\"10.0.0.100\"]\nsearch = [\"okd.example\"]\nmtu = 1400\nrollback_timeout = 40")
	const name = "virtcluster_external_bridge.test"
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		CheckDestroy:             same,
		Steps: []resource.TestStep{
			{Config: on(""), Check: resource.ComposeTestCheckFunc(resource.TestCheckResourceAttr(name, "active_backend", backend), reached("10.19.41.101"), inherited)},
			{PreConfig: func() { acctest.Reboot(t, "svc-1") }, Config: on(""), PlanOnly: true},
			{Config: on(""), Check: resource.ComposeTestCheckFunc(reached("10.19.41.101"), inherited)},
			{Config: list, Check: resource.ComposeTestCheckFunc(reached("10.19.41.181"), routes("default via 10.19.41.254 dev accbr1"))},
			{ResourceName: name, ImportState: true, ImportStateVerify: true},
			{PreConfig: func() { acctest.Reboot(t, "svc-1") }, Config: list, PlanOnly: true},
			{Config: list, Check: resource.ComposeTestCheckFunc(reached("10.19.41.181"), routes("default via 10.19.41.254 dev accbr1"))},
			{Config: on(""), Check: resource.ComposeTestCheckFunc(reached("10.19.41.101"), inherited)},
		},
	})
	acctest.Reboot(t, "svc-1")
	if err := same(nil); err != nil {
		t.Errorf("after a reboot: %v", err)
	}
}
