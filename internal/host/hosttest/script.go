package hosttest

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
)

// Script is a shell script that runs on this machine as it would on one that is managed, with programs in the place of the machine's.
type Script struct {
	Text  string
	Args  []string
	Input string
	// Programs are what these programs do, as shell scripts by their names.
	Programs map[string]string
	// Alone is whether there are no other programs than these.
	Alone bool
}

// Ending is how a script ended.
type Ending struct {
	Stdout, Stderr string
	Status         int
	// Calls are the calls of the script's Programs with their arguments, in their order.
	Calls []string
}

// Run runs the script to its end.
func (s Script) Run(t testing.TB) Ending {
	t.Helper()
	dir := t.TempDir()
	calls := filepath.Join(dir, "calls.log")
	for name, text := range s.Programs {
		text = "#!/bin/sh\necho \"${0##*/} $*\" >>" + host.Quote([]string{calls}) + "\n" + text + "\n"
		// A process that is forked while the file is open for writing would have it open too, and it could not be run meanwhile.
		syscall.ForkLock.RLock()
		err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700) //nolint:gosec // it is run
		syscall.ForkLock.RUnlock()
		if err != nil {
			t.Fatal(err)
		}
	}
	path := dir
	if !s.Alone {
		path += ":" + os.Getenv("PATH")
	}
	cmd := exec.CommandContext(t.Context(), "/bin/sh", append([]string{"-c", s.Text, "sh"}, s.Args...)...)
	cmd.Env = append(os.Environ(), "LC_ALL=C", "PATH="+path)
	cmd.Stdin = strings.NewReader(s.Input)
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if err != nil && !errors.As(err, new(*exec.ExitError)) {
		t.Fatal(err)
	}
	end := Ending{Stdout: stdout.String(), Stderr: stderr.String(), Status: cmd.ProcessState.ExitCode()}
	if text, err := os.ReadFile(calls); err == nil {
		end.Calls = strings.Split(strings.TrimSpace(string(text)), "\n")
	}
	return end
}
