//go:build unix

package localhost

import (
	"os/exec"
	"syscall"
)

// ownGroup starts a command in a process group of its own, which ends as a whole when the context does.
func ownGroup(c *exec.Cmd) {
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGTERM) }
}
