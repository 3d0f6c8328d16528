package snapshot_test

import (
	"fmt"
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
