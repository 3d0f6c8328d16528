package ovnnetwork_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// TestAccPodsOnOVN has two nodes on two hypervisors have pods, whom each other and another network behind the router reach: the nodes by the routes of
// virtcluster_pod_network, and the router by routes of its own. Ports that are secured pass the pods' addresses, and nobody else's.
func TestAccPodsOnOVN(t *testing.T) {
	nb, config := ovnStage(t)
	s := acctest.NewState(t)
	s.DestroyAtEnd()
	node := func(name, mac, ip string) string {
		return fmt.Sprintf(`{ NET, mac = %q, ip = %q, port_security = true, allowed_addresses = [virtcluster_pod_network.pods.pod_cidrs[%q]] }`, mac, ip, name)
	}
	s.Apply(config(node("a", "52:54:00:50:00:01", "10.50.0.11"), node("b", "52:54:00:50:00:02", "10.50.0.12")) + fmt.Sprintf(`
resource "virtcluster_pod_network" "pods" {
  cidr        = "10.128.0.0/16"
  host_prefix = 24
  nodes       = { a = "10.50.0.11", b = "10.50.0.12" }
}
resource "virtcluster_ovn_network" "dmz" {
  ovn     = %[1]q
  name    = "dmz"
  cidr    = "10.51.0.0/24"
  gateway = "10.51.0.1"
}
resource "virtcluster_ovn_router" "lab" {
  ovn      = %[1]q
  name     = "lab"
  networks = [virtcluster_ovn_network.nodes.name, virtcluster_ovn_network.dmz.name]
  routes   = [for name, cidr in virtcluster_pod_network.pods.pod_cidrs : { cidr = cidr, via = virtcluster_pod_network.pods.nodes[name] }]
}
output "routes" { value = virtcluster_pod_network.pods.routes }
`, acctest.Endpoint("hv-1")))
	s.Settled()
	var routes map[string][]struct{ CIDR, Via string }
	if err := json.Unmarshal([]byte(s.Run("output", "-json", "routes")), &routes); err != nil {
		t.Fatal(err)
	}
	pods := map[string]string{"a": "10.128.0.7", "b": "10.128.1.7"}
	machines := map[string]string{"a": "hv-1", "b": "hv-2"}
	for name, machine := range machines {
		t.Run("routes of "+name, func(t *testing.T) {
			heedsLinkOn(t, machine, "acc-"+name)
			script := "/bin/busybox ip link set lo up && /bin/busybox ip address add " + pods[name] + "/32 dev lo"
			for _, r := range routes[name] {
				script += " && /bin/busybox ip route add " + r.CIDR + " via " + r.Via
			}
			if said, err := acctest.InGuestOf(t.Context(), machine, "acc-"+name, script); err != nil {
				t.Fatalf("%s: %v: %s", script, err, said)
			}
		})
	}
	nb("--wait=hv", "lsp-add", "dmz", "client", "--", "lsp-set-addresses", "client", "02:00:00:51:00:05 10.51.0.5")
	t.Cleanup(func() {
		if out, err := acctest.Try(context.WithoutCancel(t.Context()), "hv-1", "ovn-nbctl", "--timeout=20", "--if-exists", "lsp-del", "client"); err != nil {
			t.Errorf("lsp-del: %v: %s", err, out)
		}
	})
	acctest.StartOVNGuest(t, "hv-2", "client", "02:00:00:51:00:05", "10.51.0.5", "10.51.0.1")
	for name, pod := range pods {
		other := map[string]string{"a": "b", "b": "a"}[name]
		t.Run("pods of "+other+" reach those of "+name, func(t *testing.T) {
			if said, err := acctest.InGuestOf(t.Context(), machines[other], "acc-"+other, "/bin/busybox ping -c 3 -W 2 -I "+pods[other]+" "+pod); err != nil {
				t.Errorf("%v: %s", err, said)
			}
		})
		t.Run("another network reaches pods of "+name, func(t *testing.T) {
			if said, err := acctest.Try(t.Context(), "hv-2", "ip", "netns", "exec", "client", "ping", "-c", "3", "-W", "2", pod); err != nil {
				t.Errorf("%v: %s\n%s", err, said, nb("lr-route-list", "lab"))
			}
		})
	}
	t.Run("nobody sends as the other node's pods", func(t *testing.T) {
		if err := answersFrom("hv-1", "acc-a", "10.128.1.9", "", "10.50.0.12", false)(nil); err != nil {
			t.Error(err)
		}
	})
}

// wire has a chassis be part of the LAN by a bridge of Open vSwitch that OVN calls lan.
const wire = `ovs-vsctl --may-exist add-br br-ex -- set Bridge br-ex datapath_type=netdev fail_mode=standalone -- --may-exist add-port br-ex eth1 -- set Open_vSwitch . external_ids:ovn-bridge-mappings=lan:br-ex
ip link set br-ex up; ip link set eth1 up`

// putOnWire has both chassis be part of the LAN until the test ends.
func putOnWire(t *testing.T) {
	t.Helper()
	for _, machine := range []string{"hv-1", "hv-2"} {
		acctest.On(t, machine, "sh", "-ec", wire)
		t.Cleanup(func() {
			if out, err := acctest.Try(context.WithoutCancel(t.Context()), machine, "ovs-vsctl", "--timeout=10", "--if-exists", "del-br", "br-ex"); err != nil {
				t.Errorf("clean up %s: %v: %s", machine, err, out)
			}
		})
	}
}

// cardOnLAN is an interface of a node on the network that the LAN is in OVN.
func cardOnLAN(mac, ip string) string {
	return fmt.Sprintf(`{ ovn_network = virtcluster_ovn_network.lan.id, mac = %q, ip = %q, port_security = true }`, mac, ip)
}

// TestAccNodesOnTheWire has nodes on two hypervisors be part of the LAN that the chassis are on, with addresses that OVN's DHCP gives them there.
func TestAccNodesOnTheWire(t *testing.T) {
	_, config := ovnStage(t)
	putOnWire(t)
	s := acctest.NewState(t)
	s.DestroyAtEnd()
	s.Apply(config(cardOnLAN("52:54:00:41:00:01", "10.19.41.211"), cardOnLAN("52:54:00:41:00:02", "10.19.41.212")) + fmt.Sprintf(`
resource "virtcluster_ovn_network" "lan" {
  ovn            = %q
  name           = "lan"
  mode           = "bridge"
  bridge_mapping = "lan"
  cidr           = "10.19.41.0/24"
  dhcp           = {}
}
`, acctest.Endpoint("hv-1")))
	s.Settled()
	for name, machine := range map[string]string{"a": "hv-1", "b": "hv-2"} {
		t.Run(name, func(t *testing.T) {
			address := map[string]string{"a": "10.19.41.211", "b": "10.19.41.212"}
			if err := guestHas(machine, "acc-"+name, address[name])(nil); err != nil {
				t.Fatal(err)
			}
			for _, to := range []string{"10.19.41.50", address[map[string]string{"a": "b", "b": "a"}[name]]} {
				if err := reaches(machine, "acc-"+name, to)(nil); err != nil {
					t.Error(err)
				}
			}
			if said, err := acctest.Try(t.Context(), "lan-client", "ping", "-c", "3", "-W", "2", address[name]); err != nil {
				t.Errorf("the LAN does not reach it: %v: %s", err, said)
			}
			if err := answersFrom(machine, "acc-"+name, "10.19.41.219", "", "10.19.41.50", false)(nil); err != nil {
				t.Error(err)
			}
		})
	}
}
