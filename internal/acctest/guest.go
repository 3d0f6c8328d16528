package acctest

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
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
	var started struct{ PID int }
	err := askAgent(ctx, domain, "guest-exec", map[string]any{"path": "/bin/sh", "arg": []string{"-c", script}, "capture-output": true}, &started)
	if err != nil {
		return "", err
	}
	for {
		var end struct {
			Exited   bool
			ExitCode int
			Out      []byte `json:"out-data"` // base64, as encoding/json has it
			Err      []byte `json:"err-data"`
		}
		if err := askAgent(ctx, domain, "guest-exec-status", map[string]any{"pid": started.PID}, &end); err != nil {
			return "", err
		}
		switch {
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

// askAgent passes one command to a domain's guest agent.
func askAgent(ctx context.Context, domain, command string, arguments map[string]any, answer any) error {
	request, err := json.Marshal(map[string]any{"execute": command, "arguments": arguments})
	if err != nil {
		return err
	}
	out, err := exec.CommandContext(ctx, "virsh", "qemu-agent-command", domain, string(request)).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s in %s: %w: %s", command, domain, err, out)
	}
	return json.Unmarshal(out, &struct{ Return any }{answer})
}
