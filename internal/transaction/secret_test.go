package transaction_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/localhost"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// watched is a daemon whose checker looks who may come to what is staged for it.
type watched struct {
	*toy
	open []string
}

func (w *watched) Check(ctx context.Context, h host.Host, stage string, next transaction.Tree) error {
	for path := stage; ; path = filepath.Dir(path) {
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		if info.Mode().Perm()&0o077 == 0 {
			return w.toy.Check(ctx, h, stage, next)
		}
		if path == "/" {
			w.open = append(w.open, stage)
			return w.toy.Check(ctx, h, stage, next)
		}
	}
}

// TestOnlyRootComesToWhatIsStaged has files that everybody may read where they live: what is staged of them may carry a password.
func TestOnlyRootComesToWhatIsStaged(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	d, e := newToy(t)
	w := &watched{toy: d}
	if err := e.Commit(t.Context(), localhost.New(), w, d.add("password")); err != nil {
		t.Fatal(err)
	}
	next := transaction.Tree{}
	next.Put(d.conf, []byte("password\n"), 0o644, "", "")
	if err := transaction.Try(t.Context(), localhost.New(), w, next); err != nil {
		t.Fatal(err)
	}
	if d.checks.Load() != 2 || len(w.open) > 0 {
		t.Errorf("%d checks, and others may come to %q", d.checks.Load(), w.open)
	}
	kept, _ := filepath.Glob(e.StateDir + "/*/original.json")
	if len(kept) != 1 {
		t.Fatalf("kept %v", kept)
	}
	if info, err := os.Stat(kept[0]); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("what was there before is kept with %v, %v", info.Mode(), err)
	}
}
