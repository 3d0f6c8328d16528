package node_test

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// TestAccNodeMovesWithItsNetwork changes a cluster's subnet: its network and its node's address in one apply. Then somebody moves
// the network alone: the node can be replaced and destroyed although the subnet of its address is gone. A plan that would do so is
// refused.
func TestAccNodeMovesWithItsNetwork(t *testing.T) {
	acctest.BothCLIs(t)
	pool, _, image := stage(t, "nodemoves")
	s := acctest.NewState(t)
	s.DestroyAtEnd()
	cluster := func(subnet, ip string) string {
		return acctest.Provider() + fmt.Sprintf(`
resource "virtcluster_network" "n" {
  name = "nodemoving"
  cidr = "%s.0/24"
  dhcp = {}
}
resource "virtcluster_node" "n" {
  name               = "acc"
  type               = "qemu"
  memory_mib         = 128
  running            = false
  root_disk          = { image = %q }
  network_interfaces = [{ network = virtcluster_network.n.name, ip = "%s" }]
}
`, subnet, image, ip)
	}
	s.Apply(cluster("10.76.0", "10.76.0.9"))
	s.Apply(cluster("10.78.0", "10.78.0.9"))
	if got := virsh(t, "net-dumpxml", "nodemoving"); !strings.Contains(got, "ip='10.78.0.9'") || strings.Contains(got, "10.76.0") {
		t.Errorf("the network has\n%s", got)
	}
	s.Settled()
	s.Run("apply", "-auto-approve", "-replace=virtcluster_node.n")
	s.Settled()

	s.Apply(cluster("10.76.0", "10.76.0.9")) // and back
	s.Settled()

	s.Write(cluster("10.69.0", "10.76.0.9"))
	s.Refused([]string{"Address outside the network", `network "nodemoving" will have 10.69.0.0/24, and the node would stay behind with 10.76.0.9: change its address in the same plan`}, "apply", "-auto-approve")
	if got := virsh(t, "net-dumpxml", "nodemoving"); !strings.Contains(got, "ip='10.76.0.9'") {
		t.Errorf("a refused plan left\n%s", got)
	}
	s.Run("apply", "-auto-approve", "-target=virtcluster_network.n")
	s.Write(cluster("10.69.0", "10.69.0.9"))
	s.Run("apply", "-auto-approve", "-replace=virtcluster_node.n")
	s.Settled()
	s.Write(cluster("10.76.0", "10.69.0.9"))
	s.Run("apply", "-auto-approve", "-target=virtcluster_network.n")
	s.Run("destroy", "-auto-approve", "-target=virtcluster_node.n")
	if out, err := exec.Command("virsh", "vol-list", pool).CombinedOutput(); err != nil || strings.Contains(string(out), "acc-root") {
		t.Errorf("after the destroy: %v\n%s", err, out)
	}
}
