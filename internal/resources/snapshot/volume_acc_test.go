package snapshot_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// TestAccVolumeUnderASnapshotDoesNotGrow has a volume of its own be a node's disk: while a snapshot lies upon it the plan says why it does not grow, and it
// grows when the snapshot is gone.
func TestAccVolumeUnderASnapshotDoesNotGrow(t *testing.T) {
	pool, network, image := acctest.StageNodes(t, "snapvol")
	s := acctest.NewState(t)
	s.DestroyAtEnd()
	config := func(size int) string {
		volume := fmt.Sprintf("resource \"virtcluster_volume\" \"v\" {\n  name = \"grows.qcow2\"\n  pool = %q\n  size_gib = %d\n}\n", pool, size)
		return acctest.ClusterOfNodes(image, network, "  shutdown_timeout = \"0s\"\n  disks = { data = { volume = virtcluster_volume.v.id } }\n", map[string]string{"a": "10.77.0.1"}) + volume
	}
	s.Apply(config(1) + snapshotOf("before", ""))
	s.Write(config(2) + snapshotOf("before", ""))
	s.Refused([]string{"Volume with a snapshot", `snapshot "before" lies upon the volume "grows.qcow2"`, "destroy the snapshot"}, "plan")
	s.Apply(config(1))
	s.Apply(config(2))
	s.Settled()
	s.Run("destroy", "-auto-approve")
}

// TestAccWhatANodeWroteToAVolumeThatStaysOutlivesIt replaces a node upon whose attached volume a snapshot lies: the new one finds there what the old
// one wrote since.
func TestAccWhatANodeWroteToAVolumeThatStaysOutlivesIt(t *testing.T) {
	pool, network, image := acctest.StageNodes(t, "snapstays")
	s := acctest.NewState(t)
	s.DestroyAtEnd()
	s.Apply(acctest.ClusterOfNodes(image, network, "  shutdown_timeout = \"0s\"\n  disks = { data = { volume = virtcluster_volume.v.id } }\n", map[string]string{"a": "10.77.0.1"}) +
		fmt.Sprintf("resource \"virtcluster_volume\" \"v\" {\n  name = \"stays.qcow2\"\n  pool = %q\n  size_gib = 1\n}\n", pool) +
		"resource \"virtcluster_snapshot\" \"s\" {\n  name = \"before\"\n  nodes = [\"acc-a\"]\n  depends_on = [virtcluster_node.n]\n}\n")
	volume := "/var/lib/libvirt/" + pool + "/stays.qcow2"
	acctest.Virsh(t, "destroy", "acc-a")
	acctest.Run(t, "qemu-io", "-f", "qcow2", "-c", "write -P 0x55 0 64k", volume+".vcsnap-before")
	s.Run("apply", "-auto-approve", "-replace=virtcluster_node.n[\"a\"]")
	if disks := acctest.Virsh(t, "domblklist", "acc-a"); !strings.Contains(disks, volume+"\n") && !strings.HasSuffix(disks, volume) {
		t.Errorf("the new node is in\n%s", disks)
	}
	if out := acctest.Run(t, "qemu-io", "-r", "-U", "-f", "qcow2", "-c", "read -P 0x55 0 64k", volume); strings.Contains(out, "verification failed") {
		t.Errorf("the volume has lost what the node wrote: %s", out)
	}
}
