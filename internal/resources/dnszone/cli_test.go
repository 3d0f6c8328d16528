package dnszone_test

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// is wants an answer from the first service node.
func is(t *testing.T, want string, question ...string) {
	t.Helper()
	if err := answers(t, "hypervisor", want, question...)(nil); err != nil {
		t.Error(err)
	}
}

// serial is the one that the internal view's zone is served with.
func serial(t *testing.T) uint32 {
	t.Helper()
	out := acctest.On(t, "hypervisor", "dig", "+short", "+time=2", "@"+acctest.ServiceNodes(t, 1)[0], "okd.example", "SOA")
	if words := strings.Fields(out); len(words) == 7 {
		if n, err := strconv.ParseUint(words[2], 10, 32); err == nil {
			return uint32(n)
		}
	}
	t.Fatalf("no SOA: %q", out)
	return 0
}

// rose wants the serial to be higher than it was (RFC 1982).
func rose(t *testing.T, before uint32) {
	t.Helper()
	if now := serial(t); int32(now-before) <= 0 { //nolint:gosec // wrapping is the arithmetic of RFC 1982
		t.Errorf("after serial %d comes %d", before, now)
	}
}

// told is what named's log tells of this process of it: how often it has loaded each zone, by ZONE/IN/VIEW, and the
// commands that it was given.
func told(t *testing.T) (loads map[string]int, commands []string) {
	t.Helper()
	log := acctest.On(t, "svc-1", "sh", "-c", `journalctl --sync; journalctl -u named -o cat _PID="$(systemctl show -P MainPID named)"`)
	loads = map[string]int{}
	for _, m := range regexp.MustCompile(`(?m)^zone (\S+/IN/(?:internal|external)): loaded serial`).FindAllStringSubmatch(log, -1) {
		loads[m[1]]++
	}
	for _, m := range regexp.MustCompile(`(?m)^received control channel command '(re[^']*)'`).FindAllStringSubmatch(log, -1) {
		commands = append(commands, m[1])
	}
	if len(loads) == 0 || len(commands) == 0 && strings.Contains(log, "control channel command") {
		t.Fatalf("named's log tells of no zone, or of commands in other words:\n%s", log)
	}
	return loads, commands
}
