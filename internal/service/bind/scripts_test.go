package bind

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/hosttest"
)

// TestCheckedIsTheDirectoryAsItWillBe runs check.sh, with a mount that mounts nothing: the checker sees what is mounted over the directory.
func TestCheckedIsTheDirectoryAsItWillBe(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	stage, dir := filepath.Join(root, "stage"), filepath.Join(root, "etc/bind")
	for path, text := range map[string]string{
		dir + "/named.conf": "live", dir + "/db.persons": "live", dir + "/named.conf.virtcluster-zones": "gone", dir + "/virtcluster/zones/_default/gone.zone": "gone", dir + "/sub/keys": "live",
		stage + dir + "/named.conf": "staged", stage + dir + "/sub/zone": "staged",
	} {
		writeFile(t, path, text)
	}
	end := hosttest.Script{
		Text: checkScript, Args: []string{stage, dir + "/named.conf", dir}, Programs: map[string]string{
			"mount":           `[ "$1" != --bind ] || ln -s "$2" "` + root + `/mounted"`,
			"umount":          `case $1 in -l) rm -rf "$2"/* ;; esac`,
			"named-checkconf": `cd "` + root + `/mounted/" && find . -type f | sort | while read -r f; do echo "$f $(cat "$f")"; done; exit 3`,
		},
	}.Run(t)
	if want := "./db.persons live\n./named.conf staged\n./sub/keys live\n./sub/zone staged\n"; end.Status != 3 || end.Stdout != want || end.Stderr != "" {
		t.Errorf("%+v", end)
	}
	if text, err := os.ReadFile(dir + "/named.conf"); string(text) != "live" {
		t.Errorf("the live file has %q, %v", text, err)
	}
}

// TestNamedLoadsWhatIsOnDisk runs activate.sh.
func TestNamedLoadsWhatIsOnDisk(t *testing.T) {
	t.Parallel()
	const zones = "okd.example virtcluster 7\nother.example outside 8\n"
	for name, c := range map[string]struct {
		systemctl, rndc, mode string
		status                int
		calls                 []string
	}{
		"zones are reloaded": {calls: []string{
			"systemctl is-active --quiet named", "rndc reload okd.example IN virtcluster", "rndc reload other.example IN outside",
		}},
		"named is reconfigured first": {mode: "reconfig", calls: []string{
			"systemctl is-active --quiet named", "rndc reconfig", "rndc reload okd.example IN virtcluster", "rndc reload other.example IN outside",
		}},
		"named refuses": {mode: "reconfig", rndc: "exit 1", status: 1, calls: []string{
			"systemctl is-active --quiet named", "rndc reconfig", "journalctl -u named -n 20 --no-pager -o cat",
		}},
		"named takes more than a minute": {mode: "reconfig", rndc: `[ "$1" != reconfig ] || [ -e "$0.once" ] || { : >"$0.once"; echo "rndc: recv failed: timed out" >&2; exit 1; }`, calls: []string{
			"systemctl is-active --quiet named", "rndc reconfig", "rndc reconfig", "rndc reload okd.example IN virtcluster", "rndc reload other.example IN outside",
		}},
		"named is started": {systemctl: `[ "$1" != is-active ]`, calls: []string{
			"systemctl is-active --quiet named", "systemctl reset-failed named", "systemctl enable --quiet named", "systemctl start named",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			end := hosttest.Script{Text: activateScript, Args: []string{c.mode, ""}, Input: zones, Programs: map[string]string{
				"systemctl": c.systemctl, "rndc": c.rndc, "journalctl": "",
			}}.Run(t)
			if end.Status != c.status || !slices.Equal(end.Calls, c.calls) {
				t.Errorf("%+v", end)
			}
		})
	}
}

// TestNothingOfAViewStays runs activate.sh for views that went: their trust anchors go, and directories that got empty.
func TestNothingOfAViewStays(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	keys, ours := filepath.Join(root, "keys"), filepath.Join(root, "virtcluster")
	hash := fmt.Sprintf("%x", sha256.Sum256([]byte("inside")))
	for _, path := range []string{keys + "/inside.mkeys", keys + "/inside.mkeys.jnl", keys + "/outside.mkeys", keys + "/" + hash + ".mkeys", keys + "/" + hash[:16] + ".mkeys", ours + "/views/outside/zone"} {
		writeFile(t, path, "x")
	}
	if err := os.MkdirAll(ours+"/views/inside", 0o755); err != nil {
		t.Fatal(err)
	}
	end := hosttest.Script{Text: activateScript, Args: []string{"", ours, "inside"}, Programs: map[string]string{
		"systemctl": "", "rndc": "", "named-checkconf": `printf '\tdirectory "/nowhere";\n\tmanaged-keys-directory "` + keys + `";\n'`,
	}}.Run(t)
	left, err := filepath.Glob(keys + "/*")
	if end.Status != 0 || err != nil || !slices.Equal(left, []string{keys + "/outside.mkeys"}) {
		t.Errorf("%+v, left are %q, %v", end, left, err)
	}
	if views, err := filepath.Glob(ours + "/views/*"); err != nil || !slices.Equal(views, []string{ours + "/views/outside"}) {
		t.Errorf("left are %q, %v", views, err)
	}
}

// TestNamedThatListensAMomentLaterIsAskedAgain runs probe.sh.
func TestNamedThatListensAMomentLaterIsAskedAgain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		rndc, words   string
		status, asked int
	}{
		"it answers":        {"echo version: BIND 9", "", 0, 1},
		"it begins":         {`[ "$(wc -l <"$(dirname "$0")/calls.log")" -ge 6 ] || { echo "rndc: connect failed: 127.0.0.1#953: connection refused" >&2; exit 1; }`, "", 0, 3},
		"it has other keys": {"echo 'rndc: connection to remote host closed' >&2; exit 1", "rndc: connection to remote host closed\n", 1, 1},
		"it is stuck":       {"exit 124", "named runs, and does not answer rndc within 60 seconds\n", 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			end := hosttest.Script{Text: probeScript, Programs: map[string]string{"rndc": c.rndc, "timeout": `shift; exec "$@"`, "sleep": ""}}.Run(t)
			asked := len(slices.DeleteFunc(slices.Clone(end.Calls), func(s string) bool { return s != "rndc status" }))
			if end.Status != c.status || end.Stdout != "" || end.Stderr != c.words || asked != c.asked {
				t.Errorf("%+v", end)
			}
		})
	}
}

// TestOnlyTheSerialProvesAZone runs verify.sh.
func TestOnlyTheSerialProvesAZone(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		input, rndc, words string
		status             int
	}{
		"both are served":  {"okd.example v 7\nb.example v 7\n", "echo serial: 7", "", 0},
		"an older one":     {"okd.example v 8\n", "echo serial: 7", "zone okd.example in view v does not serve serial 8:", 1},
		"a longer one":     {"okd.example v 8\n", "echo serial: 88", "serial: 88", 1},
		"what named said":  {"okd.example v 8\n", "echo 'zone not loaded' >&2; exit 1", "zone okd.example/IN/v: no TTL", 1},
		"nothing to ask":   {"", "[ $1 = status ]", "", 0},
		"nobody to answer": {"", "exit 1", "", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			end := hosttest.Script{Text: verifyScript, Input: c.input, Programs: map[string]string{
				"rndc": c.rndc, "sleep": "", "journalctl": "echo 'zone okd.example/IN/v: no TTL'; echo 'zone x/IN/v: fine'",
			}}.Run(t)
			if end.Status != c.status || end.Stdout != "" || !strings.Contains(end.Stderr, c.words) || strings.Contains(end.Stderr, "fine") {
				t.Errorf("%+v", end)
			}
		})
	}
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
