// Package faults breaks things under the provider, in the sandbox, against real machines: what must not
// happen when a connection, a disk or a daemon goes away.
package faults

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/sshhost"
)

// options log in to the sandbox's machines, whose keys are in a known_hosts file of our own.
func options(t *testing.T) sshhost.Options {
	t.Helper()
	var lines []string
	for i, address := range acctest.ServiceNodes(t, 2) {
		for _, key := range []string{"ed25519", "ecdsa", "rsa"} {
			public, err := acctest.Try(t.Context(), fmt.Sprintf("svc-%d", i+1), "cat", "/etc/ssh/ssh_host_"+key+"_key.pub")
			if err == nil {
				lines = append(lines, address+" "+public)
			}
		}
	}
	known := filepath.Join(t.TempDir(), "known_hosts")
	if err := os.WriteFile(known, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return sshhost.Options{PrivateKeyFile: os.Getenv("SANDBOX_SSH_KEY"), KnownHostsFile: known}
}

// machine is the first service node; each call is what a process of its own would have.
func machine(t *testing.T, opts sshhost.Options) *sshhost.Host {
	t.Helper()
	h := sshhost.New(sshhost.Target{User: "root", Host: acctest.ServiceNodes(t, 1)[0]}, opts)
	t.Cleanup(func() { h.Close() })
	return h
}

// begin starts a test that must leave no goroutine behind.
func begin(t *testing.T) sshhost.Options {
	t.Helper()
	acctest.InSandbox(t)
	ignore := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, ignore) })
	return options(t)
}

func script(text string, args ...string) host.Cmd { return host.Script("script", text, args...) }

// cut kills the processes of sshd that serve connections.
const cut = `kill -9 $(ps -eo pid,args | sed -n 's/^ *\([0-9]*\) sshd: root.*/\1/p')`

func cutSessions(t *testing.T) {
	t.Helper()
	acctest.On(t, "svc-1", "sh", "-c", cut)
}

// appears waits for a file on the machine.
func appears(t *testing.T, path string) {
	t.Helper()
	for range 100 {
		if _, err := acctest.Try(t.Context(), "svc-1", "test", "-e", path); err == nil {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatalf("%s does not appear", path)
}

func TestAccSSHCutInMidCommand(t *testing.T) {
	h := machine(t, begin(t))
	acctest.On(t, "svc-1", "rm", "-f", "/tmp/mark", "/tmp/twice")
	failed := make(chan error, 1)
	go func() {
		_, err := h.Run(t.Context(), script(`: >/tmp/mark; sleep 60`))
		failed <- err
	}()
	appears(t, "/tmp/mark")
	cutSessions(t)
	var exit *host.ExitError
	if err := <-failed; !errors.Is(err, host.ErrCut) || errors.As(err, &exit) {
		t.Errorf("a command that was cut off: %v", err)
	}
	again := script(`[ -e /tmp/twice ] && { echo done; exit; }; : >/tmp/twice; sleep 60`)
	again.Repeatable = true
	out := make(chan string, 1)
	go func() {
		text, err := h.Run(t.Context(), again)
		out <- fmt.Sprint(string(text), err)
	}()
	appears(t, "/tmp/twice")
	cutSessions(t)
	if got := <-out; got != "done\n<nil>" {
		t.Errorf("a repeatable command: %s", got)
	}
}

func TestAccSSHDRestartIsNotNoticed(t *testing.T) {
	h := machine(t, begin(t))
	if _, err := h.Run(t.Context(), script("true")); err != nil {
		t.Fatal(err)
	}
	for round := range 5 {
		acctest.On(t, "svc-1", "sh", "-c", "systemctl stop ssh; pids=$(ps -eo pid,args | sed -n 's/^ *\\([0-9]*\\) sshd: root.*/\\1/p'); kill -9 $pids; (sleep 1; systemctl reset-failed ssh; systemctl start ssh) >/dev/null 2>&1 &")
		if _, err := h.Run(t.Context(), script("true")); err != nil {
			t.Errorf("round %d: %v", round, err)
		}
	}
}

func TestAccFiftyCommandsAtOnce(t *testing.T) {
	opts := begin(t)
	fifty := func(h *sshhost.Host) {
		var wg sync.WaitGroup
		for i := range 50 {
			wg.Go(func() {
				out, err := h.Run(t.Context(), script(`sleep 0.1; echo "$1"`, strconv.Itoa(i)))
				if err != nil || string(out) != fmt.Sprintln(i) {
					t.Errorf("%d: %q, %v", i, out, err)
				}
			})
		}
		wg.Wait()
	}
	connections := func() string {
		return acctest.On(t, "svc-1", "sh", "-c", "ps -eo args | grep -c '^sshd: root@notty' || :")
	}
	h := machine(t, opts)
	fifty(h)
	if n := connections(); n != "1" {
		t.Errorf("%s connections", n)
	}
	h.Close()
	// An administrator allows less than OpenSSH's default.
	acctest.On(t, "svc-1", "sh", "-c", "mkdir -p /etc/ssh/sshd_config.d; echo 'MaxSessions 2' >/etc/ssh/sshd_config.d/few.conf; systemctl reset-failed ssh; systemctl restart ssh")
	defer acctest.On(t, "svc-1", "sh", "-c", "rm /etc/ssh/sshd_config.d/few.conf; systemctl reset-failed ssh; systemctl restart ssh")
	fifty(machine(t, opts))
}

func TestAccDiskFullAndReadOnlyLeaveTheOldFile(t *testing.T) {
	h := machine(t, begin(t))
	acctest.On(t, "svc-1", "sh", "-c", "mkdir -p /mnt/small && mount -t tmpfs -o size=64k,nr_inodes=32 tmpfs /mnt/small && echo old >/mnt/small/f")
	defer acctest.On(t, "svc-1", "umount", "/mnt/small")
	big := []byte(strings.Repeat("x", 100_000))
	left := func(when string) {
		if names := acctest.On(t, "svc-1", "ls", "-A", "/mnt/small"); names != "f" {
			t.Errorf("%s: left %q", when, names)
		}
		if text := acctest.On(t, "svc-1", "cat", "/mnt/small/f"); text != "old" {
			t.Errorf("%s: %d bytes", when, len(text))
		}
	}
	err := h.Write(t.Context(), host.File{Path: "/mnt/small/f", Content: big})
	if err == nil || !strings.Contains(err.Error(), "No space left") {
		t.Errorf("disk full: %v", err)
	}
	left("disk full")
	err = host.WriteAll(t.Context(), h, "/mnt/small/stage", []host.File{{Path: "/etc/a", Content: []byte("a")}, {Path: "/etc/b", Content: big}})
	if err == nil || !strings.Contains(err.Error(), "100% /mnt/small") {
		t.Errorf("disk full, bulk: %v", err)
	}
	acctest.On(t, "svc-1", "rm", "-rf", "/mnt/small/stage")
	acctest.On(t, "svc-1", "mount", "-o", "remount,ro", "/mnt/small")
	for what, err := range map[string]error{
		"write":     h.Write(t.Context(), host.File{Path: "/mnt/small/f", Content: []byte("new")}),
		"write all": host.WriteAll(t.Context(), h, "/mnt/small/stage", []host.File{{Path: "/a"}}),
		"remove":    h.Remove(t.Context(), "/mnt/small/f"),
	} {
		t.Run(what, func(t *testing.T) {
			if err == nil || !strings.Contains(err.Error(), "Read-only") {
				t.Errorf("read-only, %s: %v", what, err)
			}
		})
	}
	left("read-only")
}

func TestAccLockIsTakenByTurnsAndDiesWithTheConnection(t *testing.T) {
	opts := begin(t)
	first, second := machine(t, opts), machine(t, opts)
	unlock, err := first.Lock(t.Context(), "faults")
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := second.Lock(ctx, "faults"); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "pid "+strconv.Itoa(os.Getpid())) {
		t.Errorf("a lock that another holds: %v", err)
	}
	held := script("true")
	held.Lock = "faults"
	if _, err := first.Run(t.Context(), held); err != nil {
		t.Errorf("under the lock: %v", err)
	}
	cutSessions(t)
	again, err := second.Lock(t.Context(), "faults")
	if err != nil {
		t.Fatalf("after the holder's connection broke: %v", err)
	}
	defer again()
	if _, err := first.Run(t.Context(), held); !errors.Is(err, host.ErrLockLost) {
		t.Errorf("a command under a lock that was lost: %v", err)
	}
}

func TestAccNetworkThatGoesSilentIsNoticedAndItsLockLapses(t *testing.T) {
	opts := begin(t)
	first, second := machine(t, opts), machine(t, opts)
	unlock, err := first.Lock(t.Context(), "silent")
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	// No packet of the first connection arrives any more, in either direction; a new one works.
	port := acctest.On(t, "svc-1", "sh", "-c", `ss -Htn state established sport = :22 | awk '{ sub(/.*:/, "", $4); print $4; exit }'`)
	acctest.On(t, "svc-1", "sh", "-c", `nft add table inet faults && nft add chain inet faults in '{ type filter hook input priority 0; }' &&
nft add chain inet faults out '{ type filter hook output priority 0; }' &&
nft add rule inet faults in tcp sport `+port+` drop && nft add rule inet faults out tcp dport `+port+` drop`)
	defer acctest.On(t, "svc-1", "nft", "delete", "table", "inet", "faults")
	start := time.Now()
	if _, err := first.Run(t.Context(), script("true")); !errors.Is(err, host.ErrCut) && err != nil {
		t.Errorf("got %v", err)
	}
	if took := time.Since(start); took > 40*time.Second {
		t.Errorf("a dead connection was noticed after %s", took)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 150*time.Second)
	defer cancel()
	again, err := second.Lock(ctx, "silent")
	if err != nil {
		t.Fatalf("the lock did not lapse: %v", err)
	}
	t.Logf("dead connection noticed, lock lapsed after %s", time.Since(start).Round(time.Second))
	again()
}

// TestAccMachineWhoseProgramsAreSlowKeepsItsConnectionAndLock has sshd stand still, as the programs of an emulated machine on a busy computer
// do, while its kernel goes on acknowledging.
func TestAccMachineWhoseProgramsAreSlowKeepsItsConnectionAndLock(t *testing.T) {
	opts := begin(t)
	h := machine(t, opts)
	unlock, err := h.Lock(t.Context(), "slow")
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	sessions := func(signal string) { acctest.On(t, "svc-1", "sh", "-c", "pkill -"+signal+" -f '^sshd: [a-z]'") }
	sessions("STOP")
	t.Cleanup(func() { _, _ = acctest.Try(context.Background(), "svc-1", "pkill", "-CONT", "-f", "^sshd: [a-z]") })
	time.Sleep(65 * time.Second)
	sessions("CONT")
	held := script("true")
	held.Lock = "slow"
	if _, err := h.Run(t.Context(), held); err != nil {
		t.Errorf("after a minute of silence: %v", err)
	}
}

func TestAccJumpThroughAnotherMachine(t *testing.T) {
	opts := begin(t)
	nodes := acctest.ServiceNodes(t, 2)
	h := sshhost.New(sshhost.Target{User: "root", Host: nodes[0], ProxyJump: "root@" + nodes[1]}, opts)
	defer h.Close()
	out, err := h.Run(t.Context(), script(`echo "${SSH_CONNECTION%% *}"`))
	if err != nil || strings.TrimSpace(string(out)) != nodes[1] {
		t.Errorf("arrives from %q, %v", out, err)
	}
}
