package machine_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/machine"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/storage"
)

// TestAccAMoveThatIsTakenBackLeavesTheDisksOfOneStorage takes back a move between two hypervisors of one storage, here one by two names, of which an apply
// saw neither before: the machine's own disk stays, and what was made for the move goes.
func TestAccAMoveThatIsTakenBackLeavesTheDisksOfOneStorage(t *testing.T) {
	const pool, name, made = "sharedpool", "acc-shared", "acc-shared-made.qcow2"
	c := acctest.StageMarkedNodes(t, pool, "8M", name)
	acctest.Virsh(t, "vol-create-as", pool, made, "1M", "--format", "qcow2")
	mark := owner.Mark{ID: "abc", Workspace: owner.Workspace()}
	for _, file := range []string{name + ".qcow2", made} {
		v, err := c.Volume(t.Context(), pool, file)
		if err != nil {
			t.Fatal(err)
		}
		marked := storage.MarkedName{Client: c, Pool: pool, Name: file}
		if _, err := marked.WriteMark(t.Context(), mark, v.Mode()); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := c.DeleteVolume(context.WithoutCancel(t.Context()), pool, file+".virtcluster-abc-"+mark.Workspace); err != nil {
				t.Error(err)
			}
		})
	}
	const namespace = "https://github.com/virtcluster/terraform-provider-virtcluster/node/1"
	acctest.Virsh(t, "metadata", name, namespace, "--config", "--key", "v", "--set", fmt.Sprintf(
		`<node owner='abc' workspace='%s'><departure to='two'><volume pool='%[2]s' name='%[3]s.qcow2'/><volume pool='%[2]s' name='%[4]s'/></departure><disk key='root' target='vda' pool='%[2]s' volume='%[3]s.qcow2'/></node>`,
		mark.Workspace, pool, name, made))
	known := &machine.Spec{UUID: acctest.Virsh(t, "domuuid", name), Name: name, Hypervisor: "one"}
	s := machine.NewStore(c, &machine.HypervisorCache{}, nil, known, owner.BeginRun().New().Of(mark)).Among(map[string]*hypervisor.Client{"one": c, "two": c})
	if err := machine.SettleMove(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Volume(t.Context(), pool, name+".qcow2"); err != nil {
		t.Errorf("the machine's own disk: %v", err)
	}
	if _, err := c.Volume(t.Context(), pool, made); !errors.Is(err, hypervisor.ErrNotFound) {
		t.Errorf("what was made for the move: %v", err)
	}
}
