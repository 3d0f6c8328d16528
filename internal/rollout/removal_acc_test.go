package rollout_test

import (
	"strings"
	"testing"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// TestAccARemovalForGoodWaitsAMinuteAtMost removes two nodes of a group for good while a third one, which nobody mends, is off: they wait for it, and
// then go, both within the one minute.
func TestAccARemovalForGoodWaitsAMinuteAtMost(t *testing.T) {
	_, network, image := acctest.StageNodes(t, "noderemoval")
	s := acctest.NewState(t)
	s.DestroyAtEnd()
	s.Apply(masters(image, network, servesHTTP, ""))
	acctest.Eventually(t, "the guests do not serve", func() bool { return len(serves("10.77.0.1", "10.77.0.2", "10.77.0.3")) == 3 })
	acctest.Virsh(t, "destroy", "acc-b")
	s.Write(mastersOf(image, network, servesHTTP, "", "b"))
	began := time.Now()
	apply := s.Start("apply", "-auto-approve", `-target=virtcluster_node.n["a"]`, `-target=virtcluster_node.n["c"]`)
	time.Sleep(40 * time.Second)
	if left := acctest.Virsh(t, "list", "--name"); !strings.Contains(left, "acc-a") || !strings.Contains(left, "acc-c") {
		t.Errorf("while the other one is off, there are only\n%s", left)
	}
	if err := apply.Wait(); err != nil {
		t.Errorf("%v\n%s", err, apply.Out.String())
	}
	took := time.Since(began)
	t.Logf("two removals took %s, with the third node off", took.Round(100*time.Millisecond))
	if took < 55*time.Second || took > 80*time.Second {
		t.Error("that is not a minute")
	}
	if left := acctest.Virsh(t, "list", "--all", "--name"); strings.TrimSpace(left) != "acc-b" {
		t.Errorf("there are\n%s", left)
	}
	leavesNoTurn(t)
	s.Apply(mastersOf(image, network, servesHTTP, "", "b"))
	s.Settled()
}
