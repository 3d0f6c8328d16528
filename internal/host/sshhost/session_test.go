package sshhost

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestRootKnowsTheConnectionToo has a command become root in a way that takes the environment away, as sudo does.
func TestRootKnowsTheConnectionToo(t *testing.T) {
	for _, prefix := range [][]string{nil, {"env", "-i"}} {
		cmd := exec.Command("sh", "-c", remoteCommand(prefix, []string{"sh", "-c", `echo "$SSH_CONNECTION in $LC_ALL"`}))
		cmd.Env = append(os.Environ(), "SSH_CONNECTION=10.0.0.2 5000 10.0.0.1 22")
		out, err := cmd.CombinedOutput()
		if got := strings.TrimSpace(string(out)); err != nil || got != "10.0.0.2 5000 10.0.0.1 22 in C" {
			t.Errorf("%q: %q, %v", prefix, got, err)
		}
	}
}
