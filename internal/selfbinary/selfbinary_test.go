package selfbinary

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/hosttest"
)

func program(content string) Program {
	sum := sha256.Sum256([]byte(content))
	return Program{[]byte(content), hex.EncodeToString(sum[:])}
}

func TestTheProgramIsCopiedOnce(t *testing.T) {
	t.Parallel()
	p := program("a program")
	h := hosttest.New()
	h.On(func(_ context.Context, h *hosttest.Host, _ host.Cmd) ([]byte, error) {
		out := machines[runtime.GOOS+"/"+runtime.GOARCH] + "\n"
		if content := h.Content(p.Path()); content != "" {
			out += program(content).sum + "\n"
		}
		return []byte(out), nil
	}, "sh", "-c")
	for range 2 {
		path, err := Put(t.Context(), h, p)
		if f := h.Files()[path]; err != nil || string(f.Content) != "a program" || f.Mode != 0o755 {
			t.Fatalf("%v: %s is %+v", err, path, f)
		}
	}
	if n := h.Count("write "); n != 1 {
		t.Errorf("it was written %d times: %q", n, h.Log())
	}
	h.Put(p.Path(), "broken")
	if _, err := Put(t.Context(), h, p); err != nil || h.Content(p.Path()) != "a program" {
		t.Errorf("%v: a broken one is %q", err, h.Content(p.Path()))
	}
}

func TestAMachineOfAnotherKindIsRefused(t *testing.T) {
	t.Parallel()
	h := hosttest.New()
	h.On(hosttest.Answer("Linux riscv64\n", 0, ""), "sh", "-c")
	_, err := Put(t.Context(), h, program("x"))
	if unfit, ok := errors.AsType[*UnfitError](err); !ok || unfit.Machine != "Linux riscv64" || len(h.Files()) != 0 {
		t.Errorf("%v, left %v", err, h.Files())
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
	if end := (hosttest.Script{Text: script, Args: []string{"look", unit}}).Run(t); end.Status != 0 {
		t.Errorf("%+v", end)
	}
}
