package faults

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// obstacle is a disk that cannot be written. Its scripts run on the machine with the daemon's name and the
// directory of its configuration.
type obstacle struct{ name, make, clear, words string }

var obstacles = []obstacle{
	{
		"disk full while staging",
		`mount -t tmpfs -o size=64k tmpfs /var/lib/virtcluster && dd if=/dev/zero of=/var/lib/virtcluster/fill bs=4k 2>/dev/null; [ -s /var/lib/virtcluster/fill ]`,
		`umount /var/lib/virtcluster`,
		"No space left on device",
	},
	{
		"disk full in the swap",
		`cp -a "$2" /tmp/copy && mount -t tmpfs -o mode=0755,size=1m tmpfs "$2" && cp -a /tmp/copy/. "$2" && dd if=/dev/zero of="$2/fill" bs=4k 2>/dev/null; [ -s "$2/fill" ]`,
		`umount -l "$2" && rm -r /tmp/copy`,
		"No space left on device",
	},
	{
		"state directory is read-only",
		`mount --bind /var/lib/virtcluster /var/lib/virtcluster && mount -o remount,ro,bind /var/lib/virtcluster`,
		`umount /var/lib/virtcluster`,
		"Read-only file system",
	},
	{
		"configuration directory is read-only",
		`mount --bind "$2" "$2" && mount -o remount,ro,bind "$2"`,
		`umount -l "$2"`,
		"Read-only file system",
	},
}

func TestAccDiskThatCannotBeWrittenChangesNothing(t *testing.T) {
	opts := begin(t)
	for _, s := range subjects {
		t.Run(s.Name(), func(t *testing.T) {
			h := s.start(t, opts)
			for _, o := range obstacles {
				acctest.On(t, "svc-1", "sh", "-c", o.make, "sh", s.Name(), s.dir)
				err := s.commit(t, h, s.edit(after, nil))
				s.serves(t, o.name, before)
				acctest.On(t, "svc-1", "sh", "-c", o.clear, "sh", s.Name(), s.dir)
				if rolled := new(transaction.RolledBackError); err == nil || errors.As(err, &rolled) || !strings.Contains(err.Error(), o.words) {
					t.Errorf("%s: %v", o.name, err)
				}
				s.converges(t, h)
				if err := s.commit(t, h, s.edit(before, nil)); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

func TestAccCheckerRefusesAndTheDaemonIsLeftAlone(t *testing.T) {
	opts := begin(t)
	for _, s := range subjects {
		t.Run(s.Name(), func(t *testing.T) {
			h := s.start(t, opts)
			process := func() string {
				return acctest.On(t, "svc-1", "sh", "-c", `pid=$(systemctl show --property=MainPID --value "$1"); echo "$pid" $(cat "/proc/$pid/task/$pid/children")`, "sh", s.unit)
			}
			was := process()
			var refused *transaction.RefusedError
			if err := s.commit(t, h, s.edit(after, s.refused)); !errors.As(err, &refused) || !strings.Contains(err.Error(), "nonsense") && !strings.Contains(err.Error(), "300") {
				t.Errorf("want the checker's words, got %v", err)
			}
			s.serves(t, "refused", before)
			s.clean(t, "refused")
			if is := process(); is != was {
				t.Errorf("a configuration that was refused reloaded it: processes %s became %s", was, is)
			}
			s.converges(t, h)
		})
	}
}

func TestAccReloadFailsAndTheOldConfigurationServes(t *testing.T) {
	opts := begin(t)
	for _, s := range subjects {
		if s.fails == nil {
			continue
		}
		t.Run(s.Name(), func(t *testing.T) {
			h := s.start(t, opts)
			var rolled *transaction.RolledBackError
			if err := s.commit(t, h, s.edit(after, s.fails)); !errors.As(err, &rolled) || rolled.Restore != nil {
				t.Errorf("want a change that was rolled back, got %v", err)
			} else {
				t.Log(err)
			}
			s.serves(t, "reload failed", before)
			s.clean(t, "reload failed")
			s.converges(t, h)
		})
	}
}

// meddled is a daemon to whose first activation something happens, before it or after it.
type meddled struct {
	transaction.Daemon
	before, after func()
	met           bool
}

func (m *meddled) Activate(ctx context.Context, h host.Host, prev, next transaction.Tree) error {
	first := !m.met
	m.met = true
	if first && m.before != nil {
		m.before()
	}
	err := m.Daemon.Activate(ctx, h, prev, next)
	if first && m.after != nil {
		m.after()
	}
	return err
}

// meddle runs a script on the machine in the middle of a commit, which is not the test's goroutine.
func meddle(t *testing.T, script string, args ...string) {
	t.Helper()
	if out, err := acctest.Try(t.Context(), "svc-1", append([]string{"sh", "-c", script, "sh"}, args...)...); err != nil {
		t.Errorf("%s: %v: %s", script, err, out)
	}
}

// die kills all processes of a unit and waits until systemd knows.
const die = `pid=$(systemctl show --property=MainPID --value "$1")
kill -KILL $pid $(cat "/proc/$pid/task/$pid/children")
for _ in $(seq 100); do systemctl is-active --quiet "$1" || exit 0; sleep 0.1; done
exit 1`

func TestAccDaemonThatDiesAfterItsReloadServesTheOldConfiguration(t *testing.T) {
	opts := begin(t)
	for _, s := range subjects {
		t.Run(s.Name(), func(t *testing.T) {
			h := s.start(t, opts)
			// systemd would start it again, sooner or later than it is looked at.
			dropIn := "/run/systemd/system/" + s.unit + ".d"
			acctest.On(t, "svc-1", "sh", "-c", `mkdir -p "$1" && printf '[Service]\nRestart=no\n' >"$1/faults.conf" && systemctl daemon-reload`, "sh", dropIn)
			defer acctest.On(t, "svc-1", "sh", "-c", `rm -r "$1" && systemctl daemon-reload`, "sh", dropIn)
			d := &meddled{Daemon: s.Daemon, after: func() { meddle(t, die, s.unit) }}
			err := new(transaction.Engine).Commit(t.Context(), h, d, s.edit(after, nil))
			if rolled := new(transaction.RolledBackError); !errors.As(err, &rolled) || rolled.Restore != nil {
				t.Errorf("want a change that was rolled back, got %v", err)
			}
			s.serves(t, "died", before)
			s.clean(t, "died")
			s.converges(t, h)
		})
	}
}

func TestAccSSHCutBetweenSwapAndReloadIsBridged(t *testing.T) {
	opts := begin(t)
	for _, s := range subjects {
		t.Run(s.Name(), func(t *testing.T) {
			h := s.start(t, opts)
			d := &meddled{Daemon: s.Daemon, before: func() { meddle(t, cut) }}
			if err := new(transaction.Engine).Commit(t.Context(), h, d, s.edit(after, nil)); err != nil {
				t.Errorf("a connection that can be made anew: %v", err)
			}
			if !d.met {
				t.Error("nothing was cut")
			}
			s.serves(t, "cut", after)
			s.clean(t, "cut")
		})
	}
}

func TestAccMachineThatIsLostBetweenSwapAndReloadServesTheOldConfiguration(t *testing.T) {
	opts := begin(t)
	opts.ConnectTimeout = 3 * time.Second
	for _, s := range subjects {
		t.Run(s.Name(), func(t *testing.T) {
			h := s.start(t, opts)
			d := &meddled{Daemon: s.Daemon, before: func() { meddle(t, "systemctl reset-failed ssh.service; systemctl stop ssh.service; "+cut) }}
			err := new(transaction.Engine).Commit(t.Context(), h, d, s.edit(after, nil))
			acctest.On(t, "svc-1", "systemctl", "start", "ssh.service")
			if rolled := new(transaction.RolledBackError); !errors.As(err, &rolled) || rolled.Restore == nil {
				t.Errorf("want a change whose end nobody knows, got %v", err)
			}
			s.serves(t, "lost", before)
			h = machine(t, opts)
			tree, err := new(transaction.Engine).Snapshot(t.Context(), h, s.Daemon)
			if err != nil {
				t.Fatal(err)
			}
			old := tree.Clone()
			if err := s.set(old, before); err != nil {
				t.Fatal(err)
			}
			if write, remove := tree.Changes(old); len(write)+len(remove) > 0 {
				t.Errorf("what is on disk and not loaded counts as absent: %v %v differ", write, remove)
			}
			s.converges(t, h)
		})
	}
}
