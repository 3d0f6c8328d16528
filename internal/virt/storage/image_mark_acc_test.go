package storage_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/failpoint"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/storage"
)

// TestAccAnImageThatWasFinishedWithoutAnAnswerKeepsItsMark has the answer to an upload's last request be lost, in the place of what a killed run left
// and of nothing.
func TestAccAnImageThatWasFinishedWithoutAnAnswerKeepsItsMark(t *testing.T) {
	c := acctest.StageMarkedNodes(t, "imagelost", "64M")
	dir := "/var/lib/libvirt/imagelost"
	content := bytes.Repeat([]byte("raw disk"), 1<<14)
	source := filepath.Join(t.TempDir(), "source")
	if err := os.WriteFile(source, content, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, leftover := range map[string]bool{"in the place of nothing": false, "of what a killed run left": true} {
		t.Run(name, func(t *testing.T) {
			if leftover {
				for file, text := range map[string]string{"i": "virtcluster: this image is not finished\n", "i.virtcluster-abc-" + owner.Workspace() + "-" + acctest.EndedRun: ""} {
					if err := errors.Join(os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600), os.Chmod(filepath.Join(dir, file), 0o610)); err != nil {
						t.Fatal(err)
					}
				}
			}
			claim := owner.BeginRun().New()
			s, err := storage.OpenImage(t.Context(), c, storage.Place{Pool: "imagelost", Name: "i"}, claim, false)
			if err != nil {
				t.Fatal(err)
			}
			lost := errors.New("the answer was lost")
			ctx := failpoint.WithJudge(t.Context(), func(what string, answered bool) error {
				if answered || !strings.HasPrefix(what, "write to volume") {
					return nil
				}
				v, err := c.Volume(context.Background(), "imagelost", "i")
				if err == nil {
					err = c.PatchVolume(context.Background(), v, 0, content[:4096])
				}
				return errors.Join(lost, err)
			})
			if _, err := s.Create(ctx, storage.Image{Pool: "imagelost", Name: "i", Source: source}); !errors.Is(err, lost) {
				t.Fatalf("%v", err)
			}
			if got, err := os.ReadFile(filepath.Join(dir, "i")); err != nil || !bytes.Equal(got, content) {
				t.Errorf("%d bytes, %v", len(got), err)
			}
			if marks, _ := filepath.Glob(filepath.Join(dir, "i.virtcluster-"+claim.Mark().ID+"-*")); len(marks) != 1 {
				t.Errorf("the image is there, and its marks are %v", marks)
			}
			if err := s.Delete(t.Context()); err != nil {
				t.Error(err)
			}
			if leftover { // its mark is that of another resource
				acctest.Virsh(t, "vol-delete", "i.virtcluster-abc-"+owner.Workspace()+"-"+acctest.EndedRun, "imagelost")
			}
		})
	}
}
