package faults

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// pidFile says which process is the sandbox's libvirtd.
const pidFile = "/run/sandbox/libvirtd.pid"

// restartLibvirtd kills the sandbox's libvirtd and starts another one.
func restartLibvirtd(t *testing.T) {
	t.Helper()
	stopLibvirtd(t, syscall.SIGKILL)
	startLibvirtd(t)
}

// stopLibvirtd ends the sandbox's libvirtd and waits until it is gone.
func stopLibvirtd(t *testing.T, by syscall.Signal) {
	t.Helper()
	text, err := os.ReadFile(pidFile)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, by); err != nil {
		t.Fatal(err)
	}
	for syscall.Kill(pid, 0) == nil { // until it is reaped, by the sandbox's first process or by this one
		time.Sleep(10 * time.Millisecond)
	}
	_ = os.Remove("/run/libvirt/libvirtd.pid")
}

// startLibvirtd starts a libvirtd where there is none, and waits until it answers.
func startLibvirtd(t *testing.T) {
	t.Helper()
	cmd := exec.Command("libvirtd")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { _ = cmd.Wait() }()
	if err := os.WriteFile(pidFile, []byte(strconv.Itoa(cmd.Process.Pid)), 0o600); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); exec.Command("virsh", "version").Run() != nil; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("libvirtd does not answer")
		}
	}
}
