package acctest

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// DebianImage puts the sandbox's Debian disk into a storage pool of a name until the test ends, and returns its path. Nothing of it
// is copied.
func DebianImage(t *testing.T, pool string) string {
	t.Helper()
	dir := "/var/lib/libvirt/" + pool
	On(t, "hypervisor", "mkdir", dir)
	On(t, "hypervisor", "ln", "-s", os.Getenv("SANDBOX_IMAGE"), dir+"/debian.qcow2")
	On(t, "hypervisor", "virsh", "pool-create-as", pool, "dir", "--target", dir)
	t.Cleanup(func() {
		if out, err := Try(context.WithoutCancel(t.Context()), "hypervisor", "virsh", "pool-destroy", pool); err != nil {
			t.Errorf("pool-destroy: %v: %s", err, out)
		}
		_, _ = Try(context.WithoutCancel(t.Context()), "hypervisor", "rm", "-rf", dir)
	})
	return dir + "/debian.qcow2"
}

// InGuest has the guest agent of a running domain run a shell script, and returns what it printed. Under the tiny image's
// shell, commands are BusyBox's: /bin/busybox ip.
func InGuest(ctx context.Context, domain, script string) (string, error) {
	return InGuestOf(ctx, "hypervisor", domain, script)
}

// RunInGuest is InGuest for a guest whose agent may still be coming up, and returns what was printed trimmed; a failure ends the test.
func RunInGuest(t *testing.T, domain, script string) string {
	t.Helper()
	var out string
	var err error
	for began := time.Now(); time.Since(began) < 90*time.Second; time.Sleep(500 * time.Millisecond) {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		out, err = InGuest(ctx, domain, script)
		cancel()
		if err == nil {
			return strings.TrimSpace(out)
		}
	}
	t.Fatalf("%s in %s: %v: %s", script, domain, err, out)
	return ""
}

// InGuestOf is InGuest for a domain of a further hypervisor ("hv-1").
func InGuestOf(ctx context.Context, machine, domain, script string) (string, error) {
	var started struct{ PID int }
	err := askAgent(ctx, machine, domain, "guest-exec", map[string]any{"path": "/bin/sh", "arg": []string{"-c", script}, "capture-output": true}, &started)
	if err != nil {
		return "", err
	}
	for {
		var end struct {
			Exited   bool
			ExitCode int
			Signal   int    // that ended it, which has no exit code then
			Out      []byte `json:"out-data"` // base64, as encoding/json has it
			Err      []byte `json:"err-data"`
		}
		if err := askAgent(ctx, machine, domain, "guest-exec-status", map[string]any{"pid": started.PID}, &end); err != nil {
			return "", err
		}
		switch {
		case end.Exited && end.Signal != 0:
			return string(end.Out), fmt.Errorf("ended by signal %d: %s", end.Signal, end.Err)
		case end.Exited && end.ExitCode != 0:
			return string(end.Out), fmt.Errorf("exit status %d: %s", end.ExitCode, end.Err)
		case end.Exited:
			return string(end.Out), nil
		}
		select {
		case <-ctx.Done():
			return "", context.Cause(ctx)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// linkScript has a guest ask DHCP anew, with nothing that it had before, whenever its link comes back, as systemd-networkd does.
const linkScript = `/bin/busybox sh -c '
link() { /bin/busybox cat /sys/class/net/eth0/carrier_changes; }
last=$(link)
while /bin/busybox sleep 1; do
  [ "$(link)" = "$last" ] || [ "$(/bin/busybox cat /sys/class/net/eth0/carrier)" != 1 ] && continue
  last=$(link)
  /bin/busybox killall -9 udhcpc
  /bin/busybox ip address flush dev eth0
  /bin/busybox udhcpc -f -i eth0 -s /dhcp -t 10 -T 1 -A 2 &
done' >/dev/null 2>&1 &`

// HeedLink has the tiny guest of a domain do so.
func HeedLink(t *testing.T, machine, domain string) {
	t.Helper()
	if said, err := InGuestOf(t.Context(), machine, domain, linkScript); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
}

// askAgent passes one command to a domain's guest agent.
func askAgent(ctx context.Context, machine, domain, command string, arguments map[string]any, answer any) error {
	request, err := json.Marshal(map[string]any{"execute": command, "arguments": arguments})
	if err != nil {
		return err
	}
	out, err := Try(ctx, machine, "virsh", "qemu-agent-command", domain, string(request))
	if err != nil {
		return fmt.Errorf("%s in %s: %w: %s", command, domain, err, out)
	}
	return json.Unmarshal([]byte(out), &struct{ Return any }{answer})
}
