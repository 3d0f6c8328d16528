package snapshot_test

import (
	"strings"
	"testing"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/guest"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/snapshot"
)

// TestAccARevertSeesWhatTookPlaceBeforeItsTurn has a later snapshot be taken while an action waits to revert to an earlier one, by which that would be lost.
func TestAccARevertSeesWhatTookPlaceBeforeItsTurn(t *testing.T) {
	c, names := stage(t, "snapturn", true)
	all := map[string]*hypervisor.Client{"": c}
	open := func(name string) (*snapshot.Store, snapshot.Snapshot) {
		want := snapshot.Snapshot{Name: name, Nodes: names, Quiesce: guest.Auto}
		return snapshot.Open(all, want, owner.BeginRun().New()), want
	}
	earlier, want := open("earlier")
	if _, err := earlier.Create(t.Context(), want); err != nil {
		t.Fatal(err)
	}
	if err := earlier.FinishMark(t.Context()); err != nil {
		t.Fatal(err)
	}
	began := acctest.Virsh(t, "domid", names[0])
	var unlock []func()
	for _, name := range names {
		unlock = append(unlock, guest.Lock(c, acctest.Virsh(t, "domuuid", name)))
	}
	later, want := open("later")
	taken, reverted := make(chan error, 1), make(chan error, 1)
	go func() {
		_, err := later.Create(t.Context(), want)
		taken <- err
	}()
	time.Sleep(3 * time.Second) // it waits for the locks, and is first
	go func() { reverted <- snapshot.Revert(t.Context(), all, "earlier", func(string) {}) }()
	time.Sleep(3 * time.Second)
	for _, release := range unlock {
		release()
	}
	if err := <-taken; err != nil {
		t.Error(err)
	}
	if err := <-reverted; err == nil || !strings.Contains(err.Error(), `snapshot "later" was taken later`) {
		t.Errorf("the later one is lost: %v", err)
	}
	if now := acctest.Virsh(t, "domid", names[0]); now != began {
		t.Errorf("the node was stopped: it was domain %s and is %s", began, now)
	}
	for _, s := range []*snapshot.Store{later, earlier} {
		if err := s.Delete(t.Context()); err != nil {
			t.Error(err)
		}
	}
	acctest.WantFiles(t, "snapturn", 2)
}
