package ownunit

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/hosttest"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/part"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

var toy = &Daemon{Label: "toy", Program: "toyd", Unit: "virtcluster-toy", Text: "[Service]\n", Directory: "/etc/toy/virtcluster", Main: "toy.conf"}

func tree(instances ...string) transaction.Tree {
	t := transaction.Tree{}
	for _, instance := range instances {
		name, content, _ := strings.Cut(instance, "=")
		if file, ok := strings.CutPrefix(name, "a/"); ok {
			toy.PutFile(t, "a", file, []byte("# "+content+"\n"), 0o644, "")
			continue
		}
		toy.Put(t, name, "toy.conf", []byte("# "+content+"\n"), 0o644, "")
	}
	return t
}

// TestUnitsFollowTheirFiles has each change of the files become what systemd is told.
func TestUnitsFollowTheirFiles(t *testing.T) {
	t.Parallel()
	older := tree("a=1", "b=1")
	older.Put(toy.unitPath(), []byte("[Service]\nNice=1\n"), 0o644, "", "")
	for name, c := range map[string]struct {
		prev, next transaction.Tree
		reloads    bool
		want       string
	}{
		"the first":             {tree(), tree("a=1"), false, "reload restart virtcluster-toy@a.service"},
		"another one":           {tree("a=1"), tree("a=1", "b=1"), false, "- restart virtcluster-toy@b.service"},
		"one changed":           {tree("a=1", "b=1"), tree("a=2", "b=1"), false, "- restart virtcluster-toy@a.service"},
		"one that can reload":   {tree("a=1"), tree("a=1", "a/more=1"), true, "- reload-or-restart virtcluster-toy@a.service"},
		"its main file changed": {tree("a=1"), tree("a=2", "a/more=1"), true, "- restart virtcluster-toy@a.service"},
		"one that cannot":       {tree("a=1"), tree("a=1", "a/more=1"), false, "- restart virtcluster-toy@a.service"},
		"one is gone":           {tree("a=1", "b=1"), tree("b=1"), false, "- stop virtcluster-toy@a.service"},
		"the last one is gone":  {tree("a=1"), tree(), false, "reload stop virtcluster-toy@a.service"},
		"nothing, but stopped":  {tree("a=1"), tree("a=1"), false, "- start virtcluster-toy@a.service"},
		"several, stopped":      {tree("a=1", "b=1"), tree("a=1", "b=1"), false, "- start virtcluster-toy@a.service start virtcluster-toy@b.service"},
		"another template":      {older, tree("a=2", "b=1"), true, "reload restart virtcluster-toy@a.service try-restart virtcluster-toy@b.service"},
		"a name begins another": {tree("a=1", "ab=1"), tree("a=1", "ab=2"), false, "- restart virtcluster-toy@ab.service"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := *toy
			d.Reloads = c.reloads
			if got := strings.Join(d.listSteps(c.prev, c.next), " "); got != c.want {
				t.Errorf("it is told %q, want %q", got, c.want)
			}
		})
	}
}

func TestTheTemplateGoesWithItsLastInstance(t *testing.T) {
	t.Parallel()
	both := tree("a=1", "b=1")
	toy.Drop(both, "a", "toy.conf")
	if _, there := both[toy.unitPath()]; !there || len(both) != 2 {
		t.Errorf("left %v", both)
	}
	toy.Drop(both, "b", "toy.conf")
	if len(both) != 0 {
		t.Errorf("left %v", both)
	}
}

// TestUnitsAreStoppedBeforeTheTemplateIsForgotten runs units.sh.
func TestUnitsAreStoppedBeforeTheTemplateIsForgotten(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "toy")
	if err := os.MkdirAll(filepath.Join(dir, "gone"), 0o755); err != nil {
		t.Fatal(err)
	}
	end := hosttest.Script{
		Text: script, Args: []string{"activate", dir, "reload", "restart", "t@a.service", "forget", "t@gone.service", "stop", "t@other.service"},
		Programs: map[string]string{"systemctl": "", "rm": "", "journalctl": ""},
	}.Run(t)
	want := []string{
		"systemctl stop t@gone.service", "systemctl reset-failed t@gone.service", "rm -f -- /etc/systemd/system/multi-user.target.wants/t@gone.service",
		"rm -rf -- /var/lib/t-gone /var/lib/private/t-gone",
		"systemctl stop t@other.service", "systemctl reset-failed t@other.service", "rm -f -- /etc/systemd/system/multi-user.target.wants/t@other.service", "systemctl daemon-reload",
		"systemctl enable --quiet t@a.service", "systemctl reset-failed t@a.service", "systemctl restart t@a.service",
	}
	if end.Status != 0 || !slices.Equal(end.Calls, want) {
		t.Errorf("%+v", end)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("empty directories are left")
	}
}

// TestOnlyWhatSystemdKeepsForItIsForgotten has an instance end whose directory of the same name would be somebody's.
func TestOnlyWhatSystemdKeepsForItIsForgotten(t *testing.T) {
	t.Parallel()
	d := *toy
	d.Text = "[Service]\nStateDirectory=virtcluster-toy-%i\n"
	for _, c := range []struct {
		d    *Daemon
		want string
	}{{toy, "reload stop virtcluster-toy@a.service"}, {&d, "reload forget virtcluster-toy@a.service"}} {
		t.Run(c.want, func(t *testing.T) {
			if got := strings.Join(c.d.listSteps(tree("a=1"), tree()), " "); got != c.want {
				t.Errorf("it is told %q", got)
			}
		})
	}
}

// TestWhatDidNotChangeIsLeftAlone runs units.sh on a unit whose template changed, and has another state's, which is not running, not be asked about.
func TestWhatDidNotChangeIsLeftAlone(t *testing.T) {
	t.Parallel()
	end := hosttest.Script{Text: script, Args: []string{"activate", "/nowhere", "-", "try-restart", "t@a.service"}, Programs: map[string]string{"systemctl": ""}}.Run(t)
	if end.Status != 0 || !slices.Equal(end.Calls, []string{"systemctl try-restart t@a.service"}) {
		t.Errorf("%+v", end)
	}
	older := tree("a=1", "b=1")
	older.Put(toy.unitPath(), []byte("[Service]\nNice=1\n"), 0o644, "", "")
	for name, c := range map[string]struct {
		prev, next transaction.Tree
		want       []string
	}{
		"one changed":      {tree("a=1", "b=1"), tree("a=1", "b=2"), []string{"virtcluster-toy@b.service"}},
		"one is gone":      {tree("a=1", "b=1"), tree("a=1"), nil},
		"another template": {older, tree("a=1", "b=2"), []string{"virtcluster-toy@b.service"}},
		"nothing changed":  {tree("a=1", "b=1"), tree("a=1", "b=1"), []string{"virtcluster-toy@a.service", "virtcluster-toy@b.service"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, asked := hosttest.New(), []string(nil)
			h.On(func(_ context.Context, _ *hosttest.Host, cmd host.Cmd) ([]byte, error) {
				asked = cmd.Argv[5:]
				return nil, nil
			}, "sh", "-c")
			if err := toy.VerifyChange(t.Context(), h, c.prev, c.next); err != nil || !slices.Equal(asked, c.want) {
				t.Errorf("%v: asked about %q", err, asked)
			}
		})
	}
}

// TestAUnitThatDoesNotStartSaysWhy runs units.sh.
func TestAUnitThatDoesNotStartSaysWhy(t *testing.T) {
	t.Parallel()
	end := hosttest.Script{
		Text: script, Args: []string{"activate", "/nowhere", "-", "restart", "t@a.service"},
		Programs: map[string]string{"systemctl": "[ $1 != restart ]", "journalctl": "echo address already in use"},
	}.Run(t)
	if end.Status != 1 || !strings.Contains(end.Stderr, "address already in use") || !strings.Contains(end.Stderr, "t@a.service does not run") {
		t.Errorf("%+v", end)
	}
}

// TestOnlyWhatHasItsFilesIsToRun runs units.sh.
func TestOnlyWhatHasItsFilesIsToRun(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	end := hosttest.Script{
		Text: "cd " + dir + "; mkdir up down empty disabled; : >up/toy.conf; : >down/toy.conf; : >disabled/toy.conf\n" + script, Args: []string{"running", dir, "t", "toy.conf"},
		Programs: map[string]string{"systemctl": `case "$*" in is-enabled*t@disabled.service) exit 1 ;; *t@down.service) echo failed ;; show*) echo active ;; esac`},
	}.Run(t)
	if end.Status != 0 || end.Stdout != "t@disabled.service\nt@down.service\n" {
		t.Errorf("%+v", end)
	}
	verify := hosttest.Script{Text: script, Args: []string{"verify", "t@up.service", "t@disabled.service"}, Programs: map[string]string{"systemctl": `case "$*" in is-enabled*t@disabled.service) exit 1 ;; esac`}}
	if end := verify.Run(t); end.Status != 1 || !strings.Contains(end.Stderr, "t@disabled.service runs, but will not after a restart") {
		t.Errorf("%+v", end)
	}
}

// TestAnInstanceIsServedBesideOneThatIsStopped has another state's unit be stopped, which is no difference in a plan of this one.
func TestAnInstanceIsServedBesideOneThatIsStopped(t *testing.T) {
	t.Parallel()
	both := tree("a=1", "b=1")
	h := hosttest.New(slices.Collect(maps.Values(both))...)
	h.On(hosttest.Answer("virtcluster-toy@b.service\n", 0, ""), "sh")
	for instance, serving := range map[string]bool{"a": true, "b": false} {
		t.Run(instance, func(t *testing.T) {
			t.Parallel()
			p := part.Open(&transaction.Engine{}, h, owner.Claim{}, part.Part[string]{
				Daemon: toy, Find: func(transaction.Tree) (string, error) { return instance, nil }, Serves: toy.Serves(instance),
			})
			if _, err := p.Get(t.Context()); err != nil || p.Serving() != serving {
				t.Errorf("serving is %t, %v", p.Serving(), err)
			}
		})
	}
}

// TestEveryUnitGoesOnTrying has a machine start before what its daemons need, such as an address: by itself systemd starts a unit five times within ten
// seconds, and never again.
func TestEveryUnitGoesOnTrying(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../*/*.service")
	if err != nil || len(files) < 5 {
		t.Fatalf("the units are %q, %v", files, err)
	}
	for _, file := range files {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			unit, service, _ := strings.Cut(string(text), "\n[Service]\n")
			if !strings.Contains(unit+"\n", "\nStartLimitIntervalSec=0\n") || !strings.Contains(service, "\nRestart=") || !strings.Contains(service, "\nRestartSec=") {
				t.Errorf("it is given up: %s", text)
			}
		})
	}
}
