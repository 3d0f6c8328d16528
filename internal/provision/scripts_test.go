package provision

import (
	"encoding/base64"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/hosttest"
)

// TestInventoryIsReadBack runs inventory.sh and reads what it prints.
func TestInventoryIsReadBack(t *testing.T) {
	t.Parallel()
	record := filepath.Join(t.TempDir(), "record")
	if err := os.WriteFile(record, []byte(`{"before":{}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{record}
	var states []string
	for _, name := range slices.Sorted(maps.Keys(lookedAt())) {
		args = append(args, name, map[bool]string{true: "named", false: "virtcluster-nothing"}[name == "bind"], "named -v", lookedAt()[name].Unit)
		states = append(states, "LoadState=loaded\nUnitFileState=static\nActiveState=active\n")
	}
	end := hosttest.Script{Text: inventoryScript, Args: args, Programs: map[string]string{
		"systemctl": "cat <<'END'\n" + strings.Join(states, "\n") + "END", "named": "echo 'BIND 9.18.24 (Extended Support Version)'",
	}}.Run(t)
	inv, err := parseInventory(end.Stdout)
	if err != nil || end.Status != 0 || inv.Versions["bind"] != "9.18.24" || len(inv.Versions) != 1 || !inv.Units["haproxy"].isActive() {
		t.Errorf("%+v, %v: %+v", inv, err, end)
	}
	if text := base64.StdEncoding.EncodeToString([]byte(`{"before":{}}`)); !strings.Contains(end.Stdout, "record "+text) {
		t.Errorf("the record is not in %q", end.Stdout)
	}
}

// TestMachineWithoutSystemdSaysSo runs inventory.sh where there is no systemctl.
func TestMachineWithoutSystemdSaysSo(t *testing.T) {
	t.Parallel()
	end := hosttest.Script{Text: inventoryScript, Args: []string{"/nothing"}, Alone: true}.Run(t)
	if end.Status != 1 || !strings.Contains(end.Stderr, "systemd does not run this machine: there is no systemctl") {
		t.Errorf("%+v", end)
	}
}

// TestDaemonThatDoesNotStartSaysWhy runs start.sh.
func TestDaemonThatDoesNotStartSaysWhy(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		systemctl, words string
		status           int
		calls            []string
	}{
		"it runs":           {"", "", 0, []string{"systemctl is-active --quiet named"}},
		"it starts":         {`[ "$1" = start ]`, "", 0, []string{"systemctl is-active --quiet named", "systemctl start named"}},
		"it does not start": {"exit 3", "loading configuration: failure", 1, []string{"systemctl is-active --quiet named", "systemctl start named", "journalctl -q --no-pager -o cat -n 10 -u named"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			end := hosttest.Script{Text: startScript, Args: []string{"named"}, Programs: map[string]string{
				"systemctl": c.systemctl, "journalctl": "echo loading configuration: failure",
			}}.Run(t)
			if end.Status != c.status || strings.TrimSpace(end.Stderr) != c.words || !slices.Equal(end.Calls, c.calls) {
				t.Errorf("%+v", end)
			}
		})
	}
}

// TestUnitsAreRestoredTogether runs restore.sh: what is as it was is left alone, and so is what is gone.
func TestUnitsAreRestoredTogether(t *testing.T) {
	t.Parallel()
	end := hosttest.Script{Text: restoreScript, Args: []string{
		"named", "disable", "stop", "haproxy", "disable", "stop", "keepalived", "enable", "start", "gone", "enable", "start", "nfs", "disable", "leave", "nftables", "enable", "stop",
	}, Programs: map[string]string{"systemctl": `case $* in
	*ConsistsOf*) printf 'named-a named-b\n\n\n' ;;
	show*gone) echo LoadState=not-found ;;
	show*keepalived) printf 'LoadState=loaded\nUnitFileState=disabled\nActiveState=inactive\n' ;;
	show*nftables) printf 'LoadState=loaded\nUnitFileState=static\nActiveState=inactive\n' ;;
	show*) printf 'LoadState=loaded\nUnitFileState=enabled\nActiveState=active\n' ;;
	esac`}}.Run(t)
	calls := slices.DeleteFunc(end.Calls, func(s string) bool { return strings.HasPrefix(s, "systemctl show") })
	want := []string{
		"systemctl disable --quiet named haproxy nfs", "systemctl enable --quiet keepalived", "systemctl stop named haproxy named-a named-b", "systemctl start keepalived",
	}
	if end.Status != 0 || !slices.Equal(calls, want) {
		t.Errorf("%+v", end)
	}
}

// TestCloudInitIsWaitedFor runs boot.sh.
func TestCloudInitIsWaitedFor(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		result, status, state, says string
		alone                       bool
	}{
		"there is none":              {alone: true},
		"it is done":                 {result: `{"v1": {"errors": []}}`, state: "running"},
		"it failed":                  {result: `{"v1": {"errors": ["no network"]}}`, status: "status: error", says: "error\nstatus: error\n"},
		"it was degraded":            {result: `{"v1": {"errors": ["no network"]}}`, status: "status: done"},
		"it goes on":                 {state: "starting", says: "waiting\n"},
		"it takes no part this time": {state: "running"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			result := filepath.Join(t.TempDir(), "result.json")
			if c.result != "" {
				if err := os.WriteFile(result, []byte(c.result), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			s := hosttest.Script{Text: bootScript, Args: []string{"2", result}, Alone: c.alone}
			if !c.alone {
				s.Programs = map[string]string{"cloud-init": "echo '" + c.status + "'", "systemctl": "echo " + c.state, "sleep": ""}
			}
			if end := s.Run(t); end.Status != 0 || end.Stdout != c.says {
				t.Errorf("%+v", end)
			}
		})
	}
}
