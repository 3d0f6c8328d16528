package storage_test

import (
	"errors"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/failpoint"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/storage"
)

// TestAccADeleteThatBreaksOnceIsMadeAnew has each request of a delete fail, and all others be answered: the next delete knows that the volume is its
// own.
func TestAccADeleteThatBreaksOnceIsMadeAnew(t *testing.T) {
	c := acctest.StageMarkedNodes(t, "volbreak", "64M")
	broken := errors.New("the test broke the connection")
	for n, reached := 1, true; reached; n++ {
		s, err := storage.OpenVolume(t.Context(), c, storage.Place{Pool: "volbreak", Name: "v.qcow2"}, owner.BeginRun().New())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Create(t.Context(), storage.Volume{Pool: "volbreak", Name: "v.qcow2", Format: "qcow2", SizeGiB: 1}); err != nil {
			t.Fatal(err)
		}
		if err := s.FinishMark(t.Context()); err != nil {
			t.Fatal(err)
		}
		made := 0
		err = s.Delete(failpoint.WithJudge(t.Context(), func(_ string, answered bool) error {
			if !answered {
				made++
			}
			if made == n && !answered {
				return broken
			}
			return nil
		}))
		if reached = made >= n; reached {
			if err := s.Delete(t.Context()); err != nil {
				t.Fatalf("after request %d broke: %v", n, err)
			}
		} else if err != nil {
			t.Fatal(err)
		}
		acctest.WantFiles(t, "volbreak", 0)
	}
}
