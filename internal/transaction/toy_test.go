package transaction_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// toy is a daemon made of files: its configuration is conf, and what it serves is the copy that Activate
// makes. It refuses BAD in the check and CRASH when it activates; TWIN is refused unless TWO is there.
type toy struct {
	conf, served, pid string
	checks, reloads   atomic.Int32
	// onActivate interferes with an activation.
	onActivate func() error
	// onCheck interferes with a check.
	onCheck func()
}

func newToy(t *testing.T) (*toy, *transaction.Engine) {
	t.Helper()
	dir := t.TempDir()
	d := &toy{conf: filepath.Join(dir, "toy.conf"), served: filepath.Join(dir, "served"), pid: filepath.Join(dir, "pid")}
	for path, text := range map[string]string{d.conf: "by hand\n", d.served: "by hand\n", d.pid: "1"} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return d, &transaction.Engine{StateDir: filepath.Join(dir, "state")}
}

func (d *toy) Name() string { return "toy-" + filepath.Base(filepath.Dir(d.conf)) }

func (d *toy) Globs() []string { return []string{d.conf, filepath.Dir(d.conf) + "/virtcluster/*/*"} }

func (d *toy) Check(ctx context.Context, h host.Host, stage string, _ transaction.Tree) error {
	d.checks.Add(1)
	if d.onCheck != nil {
		d.onCheck()
	}
	script := `if grep BAD "$1" >&2; then exit 1; fi; if grep -q TWIN "$1" && ! grep -q TWO "$1"; then echo lonely twin >&2; exit 1; fi`
	_, err := h.Run(ctx, host.Cmd{Argv: []string{"sh", "-c", script, "sh", stage + d.conf}})
	return err
}

func (d *toy) Activate(ctx context.Context, h host.Host, _, next transaction.Tree) error {
	d.reloads.Add(1)
	if d.onActivate != nil {
		if err := d.onActivate(); err != nil {
			return err
		}
	}
	if strings.Contains(string(next[d.conf].Content), "CRASH") {
		return errors.New("segmentation fault")
	}
	_, err := h.Run(ctx, host.Cmd{Argv: []string{"sh", "-c", `cp "$1" "$2"; echo 1 >"$3"`, "sh", d.conf, d.served, d.pid}})
	return err
}

func (d *toy) Verify(ctx context.Context, h host.Host, next transaction.Tree) error {
	if up, err := d.Running(ctx, h); err != nil || !up {
		return errors.Join(errors.New("does not run"), err)
	}
	got, err := h.Read(ctx, d.served)
	if err == nil && string(got) != string(next[d.conf].Content) {
		err = fmt.Errorf("serves %q", got)
	}
	return err
}

func (d *toy) Running(ctx context.Context, h host.Host) (bool, error) {
	_, err := h.Read(ctx, d.pid)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

func (d *toy) add(line string) transaction.Edit {
	return transaction.Edit{Owner: line, Apply: func(t transaction.Tree) error {
		if strings.Contains(line, "UNFIT") {
			return errors.New("unfit edit")
		}
		if text := string(t[d.conf].Content); !strings.Contains(text, line+"\n") {
			t.Put(d.conf, []byte(text+line+"\n"), 0o644, "", "")
		}
		return nil
	}}
}

func (d *toy) serves(t *testing.T) string {
	t.Helper()
	served, err := os.ReadFile(d.served)
	if err != nil {
		t.Fatal(err)
	}
	onDisk, err := os.ReadFile(d.conf)
	if err != nil {
		t.Fatal(err)
	}
	if string(served) != string(onDisk) {
		t.Errorf("serves %q, on disk is %q", served, onDisk)
	}
	return string(served)
}
