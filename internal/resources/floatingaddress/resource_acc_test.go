package floatingaddress_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// TestAccFloatingAddressLeadsToAVIP has a virtual address inside move from one machine to another, behind an address outside.
func TestAccFloatingAddressLeadsToAVIP(t *testing.T) {
	acctest.InSandbox(t)
	nodes := acctest.ServiceNodes(t, 3)
	const outside, vip = "10.19.41.224", "10.0.100.224"
	// Both machines stand on the LAN themselves; what they answer as the virtual address goes back the way it came.
	back := fmt.Sprintf("ip rule add from %s lookup 224; ip route add default via 10.0.100.101 table 224", vip)
	for _, machine := range []string{"svc-2", "svc-3"} {
		acctest.On(t, machine, "sh", "-c", back+"; systemd-run --quiet --unit=acc-answers socat TCP-LISTEN:8080,fork,reuseaddr SYSTEM:'echo "+machine+"'")
		t.Cleanup(func() {
			out, err := acctest.Try(context.Background(), machine, "sh", "-c", "systemctl stop acc-answers; ip rule del lookup 224; ip route flush table 224")
			if err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	s := acctest.NewState(t)
	s.DestroyAtEnd()
	s.Apply(acctest.Provider() + fmt.Sprintf(`
resource "virtcluster_service_node" "edge" {
  endpoint = "ssh://root@%[1]s"
  services = ["nftables"]
}
resource "virtcluster_service_node" "inside" {
  for_each = { one = "ssh://root@%[2]s", two = "ssh://root@%[3]s" }
  endpoint = each.value
  services = ["keepalived"]
}
resource "virtcluster_vip" "inside" {
  name      = "floating-target"
  addresses = ["%[4]s/24"]
  members   = { for name, node in virtcluster_service_node.inside : name => { service_node = node.id, interface = "eth0", priority = { one = 250, two = 240 }[name] } }
}
resource "virtcluster_floating_address" "api" {
  service_node = virtcluster_service_node.edge.id
  address      = %[5]q
  target       = %[4]q
  ports        = { http = { port = 8080 } }
  depends_on   = [virtcluster_vip.inside]
}
`, nodes[0], nodes[1], nodes[2], vip, outside))
	s.Settled()
	answeredBy := func(machine string) {
		t.Helper()
		acctest.Eventually(t, machine+" answers at the floating address", func() bool {
			got, err := acctest.Ask(t, "lan-client", "tcp", outside+":8080")
			return err == nil && got == machine
		})
	}
	answeredBy("svc-2")
	acctest.On(t, "svc-2", "systemctl", "stop", "keepalived")
	t.Cleanup(func() { _, _ = acctest.Try(context.Background(), "svc-2", "systemctl", "start", "keepalived") })
	answeredBy("svc-3")
	acctest.On(t, "svc-2", "systemctl", "start", "keepalived")
	answeredBy("svc-2")
	s.Settled()
}
