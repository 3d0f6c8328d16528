package localhost

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/hosttest"
)

// TestFilesKeepTheirLabels runs the real scripts with stand-ins for the commands of SELinux.
func TestFilesKeepTheirLabels(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	labels := hosttest.SELinux(t)
	dir, h := t.TempDir(), New()
	one, link, tree := filepath.Join(dir, "one"), filepath.Join(dir, "link"), filepath.Join(dir, "tree")
	is := func(when, path, want string) {
		t.Helper()
		if got := labels.Of(t, path); got != want {
			t.Errorf("%s: %s has the label %q, want %q", when, path, got, want)
		}
	}
	write := func(path string) {
		t.Helper()
		if err := h.Write(t.Context(), host.File{Path: path, Content: []byte("x")}); err != nil {
			t.Fatal(err)
		}
	}
	write(one)
	is("new", one, hosttest.DefaultLabel)
	labels.Set(t, one, "by_a_person_t")
	write(one)
	is("written again", one, "by_a_person_t")
	if err := os.Symlink(one, link); err != nil {
		t.Fatal(err)
	}
	write(link)
	is("written by a link", one, "by_a_person_t")
	if err := host.WriteAll(t.Context(), h, tree, []host.File{{Path: "/a/b", Content: []byte("x")}}); err != nil {
		t.Fatal(err)
	}
	is("one of many", tree+"/a/b", hosttest.DefaultLabel)
}
