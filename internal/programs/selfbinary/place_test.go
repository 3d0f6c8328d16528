package selfbinary

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/hosttest"
)

func TestTheProgramIsCopiedOnce(t *testing.T) {
	t.Parallel()
	content := []byte("a program")
	p := Program{Own, Sum(content), func(context.Context) ([]byte, error) { return content, nil }}
	h := hosttest.New()
	h.On(func(_ context.Context, h *hosttest.Host, _ host.Cmd) ([]byte, error) {
		if there := h.Content(p.Path()); there != "" {
			return []byte(Sum([]byte(there)) + "\n"), nil
		}
		return nil, nil
	}, "sh", "-c")
	for range 2 {
		err := Put(t.Context(), h, p)
		if f := h.Files()[p.Path()]; err != nil || string(f.Content) != "a program" || f.Mode != 0o755 {
			t.Fatalf("%v: %+v", err, f)
		}
	}
	if n := h.Count("write "); n != 1 {
		t.Errorf("it was written %d times: %q", n, h.Log())
	}
	h.Put(p.Path(), "broken")
	if err := Put(t.Context(), h, p); err != nil || h.Content(p.Path()) != "a program" {
		t.Errorf("%v: a broken one is %q", err, h.Content(p.Path()))
	}
}

func TestAServiceNodeOfAnotherPlatformIsRefused(t *testing.T) {
	t.Parallel()
	h := hosttest.New()
	h.On(hosttest.Answer("Linux riscv64\n", 0, ""), "sh", "-c")
	if _, err := ForServiceNode(t.Context(), h, "dev"); err == nil || !strings.Contains(err.Error(), "riscv64") || strings.Contains(err.Error(), "binary") {
		t.Errorf("%v", err)
	}
}

// TestOnlyWhatNoUnitNamesGoes runs selfbinary.sh.
func TestOnlyWhatNoUnitNamesGoes(t *testing.T) {
	t.Parallel()
	dir, units := filepath.Join(t.TempDir(), "lib"), t.TempDir()
	write := func(path, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	old, used := filepath.Join(dir, "terraform-provider-virtcluster-1"), filepath.Join(dir, "terraform-provider-virtcluster-2")
	unit := filepath.Join(units, "virtcluster-x@.service")
	write(old, "")
	write(used, "")
	write(unit, "ExecStart="+used+" bmc\n")
	there := func(path string) bool { _, err := os.Stat(path); return err == nil }
	collect := func() {
		t.Helper()
		if end := (hosttest.Script{Text: script, Args: []string{"collect", dir, units}}).Run(t); end.Status != 0 {
			t.Fatalf("%+v", end)
		}
	}
	if collect(); there(old) || !there(used) {
		t.Errorf("old is there: %t, used is there: %t", there(old), there(used))
	}
	if err := os.Remove(unit); err != nil {
		t.Fatal(err)
	}
	if collect(); there(dir) {
		t.Error("the directory is left")
	}
}
