package exposedservice_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// TestAccGuestsAreReachedByIPv6 does the same for the other family, through rules that refuse what is forwarded to the guests' network, as
// libvirt has for a network with NAT.
func TestAccGuestsAreReachedByIPv6(t *testing.T) {
	acctest.InSandbox(t)
	node := acctest.KnownServiceNodes(t, 1)[0]
	acctest.Guest(t, "first", firstIP, inside, "tcp:8080", "udp:5353")
	const outside = "fd19:41::50" // lan-client
	undo := func(machine string, script, back string) {
		t.Helper()
		acctest.On(t, machine, "sh", "-ec", script)
		t.Cleanup(func() { _, _ = acctest.Try(context.Background(), machine, "sh", "-c", back) })
	}
	undo("svc-1", `ip address add fd19:41::101/64 dev eth1 nodad; ip address add fd00:100::101/64 dev eth0 nodad
for p in iptables ip6tables; do $p -A FORWARD -o eth0 -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT; $p -A FORWARD -o eth0 -j REJECT; done`,
		`ip address del fd19:41::101/64 dev eth1; ip address del fd00:100::101/64 dev eth0
for p in iptables ip6tables; do $p -D FORWARD -o eth0 -j REJECT; $p -D FORWARD -o eth0 -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT; done; nft delete table ip filter; nft delete table ip6 filter`)
	// A container cannot switch on forwarding itself; see test/sandbox/lib/network.sh.
	undo("hypervisor", "ip netns exec svc-1 sysctl -q -w net.ipv6.conf.all.forwarding=1", "ip netns exec svc-1 sysctl -q -w net.ipv6.conf.all.forwarding=0")
	undo("hypervisor", "ip netns exec lan-client ip address add "+outside+"/64 dev eth0 nodad; ip -n first address add fd00:100::51/64 dev eth0 nodad; ip -n first -6 route add default via fd00:100::101",
		"ip netns exec lan-client ip address del "+outside+"/64 dev eth0")
	look := "cat /proc/sys/net/ipv6/conf/all/forwarding /proc/sys/net/ipv4/ip_forward; iptables -S; ip6tables -S; ip -br address show dev eth1"
	before := acctest.On(t, "svc-1", "sh", "-c", look)
	s := acctest.NewState(t)
	s.DestroyAtEnd()
	s.Apply(acctest.Provider() + fmt.Sprintf(`
locals { node = virtcluster_service_node.edge.id }
resource "virtcluster_service_node" "edge" {
  endpoint = "ssh://root@%s"
  services = ["haproxy", "nftables"]
}
resource "virtcluster_exposed_service" "bastion" {
  service_node      = local.node
  name              = "bastion"
  type              = "external_ip"
  address           = "fd19:41:0::220"
  configure_address = true
  ports             = { ssh = { port = 22, target_port = 8080 }, dns = { port = 53, target_port = 5353, protocol = "udp" } }
  targets           = ["fd00:100::51"]
  source_ranges     = ["fd19:41::/64", "fd00:100::/64"]
}
resource "virtcluster_exposed_service" "web" {
  service_node      = local.node
  name              = "web"
  type              = "load_balancer"
  address           = "fd19:41::221"
  configure_address = true
  ports             = { http = { port = 80, target_port = 8080 } }
  targets           = ["fd00:100::51"]
}
resource "virtcluster_exposed_service" "node" {
  service_node = local.node
  name         = "node"
  type         = "node_port"
  ports        = { http = { target_port = 8080 } }
  targets      = ["fd00:100::51"]
}
resource "virtcluster_exposed_service" "four" {
  service_node      = local.node
  name              = "four"
  type              = "external_ip"
  address           = "10.19.41.221"
  configure_address = true
  ports             = { http = { port = 80, target_port = 8080 } }
  targets           = [%q]
}
resource "virtcluster_floating_address" "first" {
  service_node = local.node
  address      = "fd19:41::222"
  target       = "fd00:100::51"
}
`, node, firstIP))
	s.Settled()
	for _, ask := range []struct{ machine, network, address, want string }{
		{"lan-client", "tcp", "[fd19:41::220]:22", "first " + outside},
		{"lan-client", "udp", "[fd19:41::220]:53", "first " + outside},
		{"lan-client", "tcp", "[fd19:41::221]:80", "first fd00:100::101"},
		{"lan-client", "tcp", "[fd19:41::101]:30000", "first fd00:100::101"}, // masqueraded
		{"lan-client", "tcp", "[fd19:41::222]:8080", "first " + outside},
		{"lan-client", "tcp", "10.19.41.221:80", "first " + lan},
		{"first", "tcp", "[fd19:41::220]:22", "first fd00:100::101"}, // the target itself
	} {
		t.Run(ask.machine+" by "+ask.network+" "+ask.address, func(t *testing.T) {
			var got string
			acctest.Eventually(t, ask.machine+" reaches "+ask.address, func() bool {
				var err error
				got, err = acctest.Ask(t, ask.machine, ask.network, ask.address)
				return err == nil
			})
			if got != ask.want {
				t.Errorf("%s got %q from %s %s, want %q", ask.machine, got, ask.network, ask.address, ask.want)
			}
		})
	}
	s.Run("destroy", "-auto-approve")
	if after := acctest.On(t, "svc-1", "sh", "-c", look); after != before {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
}
