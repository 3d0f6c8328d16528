package bmc

import (
	"slices"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/hosttest"
)

// programs are the machine's, which does what it is told.
func programs(more map[string]string) map[string]string {
	all := map[string]string{
		"systemctl": `case "$*" in *ActiveState*) echo active;; *MainPID*) echo 42;; esac`,
		"getent":    "exit 2", "useradd": "", "usermod": "", "userdel": "", "groupdel": "", "journalctl": "", "ss": "", "ip": "", "uname": `case $1 in -s) echo Linux;; -m) echo x86_64;; esac`,
		"sleep": "",
	}
	for name, text := range more {
		all[name] = text
	}
	return all
}

func TestLookPrintsWhatIsThere(t *testing.T) {
	end := hosttest.Script{Text: script, Args: []string{"look", "rack", "unit-that-is-not.service", "vc-bmc-rack", "/does/not/exist", "/"}, Programs: programs(map[string]string{
		"getent": `[ $1 = group ] || echo "vc-bmc-rack:x:900:900:virtcluster BMC rack:/nonexistent:/usr/sbin/nologin"`,
		"ss": `echo 'tcp LISTEN 0 4096 0.0.0.0:22 0.0.0.0:* users:(("sshd",pid=7,fd=3))'
echo 'tcp LISTEN 0 4096 10.0.0.1:8001 0.0.0.0:* users:(("virtcluster-bmc",pid=42,fd=3))'`,
		"ip": `echo '2: eth0    inet 10.0.0.1/24 brd 10.0.0.255 scope global eth0'`,
	})}.Run(t)
	want := []string{"system Linux x86_64", "state active", "user virtcluster BMC rack", "group", "memory", "listen tcp 0.0.0.0:22", "address 10.0.0.1"}
	if got := strings.Split(strings.TrimSpace(end.Stdout), "\n"); end.Status != 0 || !slices.Equal(got, want) {
		t.Errorf("status %d, %q, not %q: %s", end.Status, got, want, end.Stderr)
	}
}

func TestAStartThatFailsSaysWhatTheProgramSaid(t *testing.T) {
	end := hosttest.Script{Text: script, Args: []string{"start", "virtcluster-bmc-rack.service"}, Programs: programs(map[string]string{
		"systemctl":  `[ "$1" != restart ]`,
		"journalctl": "echo Starting it; echo 'listen tcp 10.0.0.1:443: bind: address already in use'",
	})}.Run(t)
	if end.Status != 1 || end.Stderr != "listen tcp 10.0.0.1:443: bind: address already in use\n" {
		t.Errorf("status %d: %q", end.Status, end.Stderr)
	}
	if !slices.Contains(end.Calls, "systemctl enable --quiet virtcluster-bmc-rack.service") {
		t.Errorf("it called %q", end.Calls)
	}
}

func TestAnAccountNeedsASocketThatAGroupMayUse(t *testing.T) {
	end := hosttest.Script{Text: script, Args: []string{"account", "vc-bmc-rack", "virtcluster BMC rack", "/does/not/exist"}, Programs: programs(nil)}.Run(t)
	if end.Status != 1 || !strings.Contains(end.Stderr, "unix_sock_group") {
		t.Errorf("status %d: %q", end.Status, end.Stderr)
	}
	if !slices.ContainsFunc(end.Calls, func(call string) bool {
		return strings.HasPrefix(call, "useradd --system --user-group --no-create-home")
	}) {
		t.Errorf("it called %q", end.Calls)
	}
}

func TestRemoveLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	end := hosttest.Script{Text: script, Args: []string{"remove", "unit-that-is-not.service", "vc-bmc-rack", dir + "/program", dir + "/state", dir + "/configuration"}, Programs: programs(map[string]string{
		"getent": "exit 0",
	}), Input: ""}.Run(t)
	if end.Status != 0 || !slices.Contains(end.Calls, "userdel vc-bmc-rack") || !slices.Contains(end.Calls, "groupdel vc-bmc-rack") {
		t.Errorf("status %d: %q %s", end.Status, end.Calls, end.Stderr)
	}
}

func TestRemoveStopsWhereMediaCannotBeTakenOut(t *testing.T) {
	dir := t.TempDir()
	setup := "mkdir -p " + dir + "/state; printf '#!/bin/sh\\nexit 1\\n' >" + dir + "/program; chmod +x " + dir + "/program\n"
	end := hosttest.Script{Text: setup + script, Args: []string{"remove", "unit-that-is-not.service", "vc-bmc-rack", dir + "/program", dir + "/state", dir + "/configuration"}, Programs: programs(nil)}.Run(t)
	if end.Status != 1 || !strings.Contains(end.Stderr, "media") || slices.ContainsFunc(end.Calls, func(call string) bool { return strings.HasPrefix(call, "userdel") }) {
		t.Errorf("status %d: %q %q", end.Status, end.Stderr, end.Calls)
	}
}
