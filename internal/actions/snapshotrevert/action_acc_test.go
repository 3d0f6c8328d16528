package snapshotrevert_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

func TestAccSnapshotRevert(t *testing.T) {
	_, network, image := acctest.StageNodes(t, "snaprev")
	nodes := acctest.ClusterOfNodes(image, network, "", map[string]string{"a": "10.77.0.1"})
	revert := func(name, snapshot string) string {
		return fmt.Sprintf("action \"virtcluster_snapshot_revert\" %q {\n  config {\n    snapshot = %s\n  }\n}\n", name, snapshot)
	}
	config := nodes + "resource \"virtcluster_snapshot\" \"s\" {\n  name  = \"clean\"\n  nodes = [for n in virtcluster_node.n : n.id]\n}\n" +
		revert("clean", "virtcluster_snapshot.s.id") + revert("named", `"clean"`) + revert("nobody", `"nobody"`)
	s := acctest.NewStateWithActions(t)
	s.DestroyAtEnd()
	s.Apply(config)
	began := acctest.Virsh(t, "domid", "acc-a")
	layer := acctest.Virsh(t, "domblklist", "acc-a")
	for i, action := range []string{"clean", "named"} {
		out := s.Run("apply", "-auto-approve", "-invoke=action.virtcluster_snapshot_revert."+action)
		for _, want := range []string{"node acc-a goes back to clean of ", "snapshot clean: all 1 nodes are back"} {
			if !strings.Contains(out, want) {
				t.Errorf("it does not say %q:\n%s", want, out)
			}
		}
		if now := acctest.Virsh(t, "domid", "acc-a"); now == began {
			t.Error("the node goes on as it was")
		}
		// Each revert has an empty layer, made beside the one that there was.
		if now := acctest.Virsh(t, "domblklist", "acc-a"); (now == layer) != (i == 1) {
			t.Errorf("its disks are\n%s\nand were\n%s", now, layer)
		}
		s.Run("apply", "-refresh-only", "-auto-approve") // the other layer is in the state
		s.Settled()
	}
	s.Refused([]string{"Cannot revert to snapshot", `has a snapshot "nobody"`}, "apply", "-auto-approve", "-invoke=action.virtcluster_snapshot_revert.nobody")

	other := acctest.NewStateWithActions(t)
	other.Write(acctest.Provider() + revert("others", `"clean"`))
	other.Refused([]string{"of another state", "only one of this state is reverted to"}, "apply", "-auto-approve", "-invoke=action.virtcluster_snapshot_revert.others")
	if _, err := other.Try("plan", "-invoke=action.virtcluster_snapshot_revert.others"); err == nil {
		t.Error("the plan does not refuse it")
	}
}
