package keepalived

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/hosttest"
)

// TestCheckedIsWhatWouldRun runs check.sh: users are looked up, and keepalived is asked about a copy with root in their place.
func TestCheckedIsWhatWouldRun(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "keepalived.conf")
	const conf = "vrrp_script chk {\n    script \"" + scriptDir + "/chk\"\n    user daemon\n}\nvrrp_script other {\n    script \"/usr/bin/true\"\n    user root\n}\n"
	if err := os.WriteFile(file, []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	check := func(users ...string) hosttest.Ending {
		return hosttest.Script{Text: checkScript, Args: append([]string{file, "/stage", scriptDir}, users...), Programs: map[string]string{"keepalived": `cat "$3"`}}.Run(t)
	}
	want := strings.NewReplacer("user daemon", "user root", `"`+scriptDir, `"/stage`+scriptDir).Replace(conf)
	if end := check("daemon"); end.Status != 0 || end.Stdout != want || !slices.Equal(end.Calls, []string{"keepalived -t -f " + file + ".check"}) {
		t.Errorf("%+v", end)
	}
	if end := check("daemon", "nobody-of-this-name"); end.Status != 1 || !strings.Contains(end.Stderr, "nobody-of-this-name") || len(end.Calls) != 0 {
		t.Errorf("an unknown user: %+v", end)
	}
}

// TestKeepalivedIsStartedReloadedOrStopped runs activate.sh.
func TestKeepalivedIsStartedReloadedOrStopped(t *testing.T) {
	t.Parallel()
	const active, reload, failed, start = "systemctl is-active --quiet keepalived.service", "systemctl reload keepalived.service", "systemctl reset-failed keepalived.service", "systemctl start keepalived.service"
	for name, c := range map[string]struct {
		args      []string
		systemctl string
		status    int
		calls     []string
	}{
		"it runs":                        {[]string{"", "", ""}, "", 0, []string{active, reload}},
		"its drop-in changed":            {[]string{"reload", "", ""}, "", 0, []string{"systemctl daemon-reload", active, reload}},
		"it does not run":                {[]string{"", "", ""}, "[ $1 != is-active ]", 0, []string{active, failed, start}},
		"it ends as it comes up":         {[]string{"", "", ""}, "case $1 in is-active | start) exit 1 ;; esac", 1, []string{active, failed, start, "sleep 0.5", start}},
		"it has no configuration":        {[]string{"reload", "", "stop"}, "", 0, []string{"systemctl daemon-reload", "systemctl stop keepalived.service"}},
		"systemd does not read drop-ins": {[]string{"reload", "", ""}, "exit 1", 1, []string{"systemctl daemon-reload"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			end := hosttest.Script{Text: activateScript, Args: c.args, Programs: map[string]string{"systemctl": c.systemctl, "sleep": ""}}.Run(t)
			if end.Status != c.status || !slices.Equal(end.Calls, c.calls) {
				t.Errorf("%+v", end)
			}
		})
	}
}

// TestFilesThatInstancesWatchAreThereBeforeAReload has Activate make those that are missing, of the instances that there are.
func TestFilesThatInstancesWatchAreThereBeforeAReload(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	yield, leave := filepath.Join(dir, "yield"), filepath.Join(dir, "leave")
	if err := os.WriteFile(yield, []byte("-200\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	end := hosttest.Script{
		Text: activateScript, Args: []string{"", "", "", yield, leave},
		Programs: map[string]string{"systemctl": "[ $1 != reload ] || cat '" + yield + "' '" + leave + "'"},
	}.Run(t)
	if info, err := os.Stat(leave); end.Status != 0 || end.Stdout != "-200\n0\n" || err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%+v, %v, %v", end, info, err)
	}
	watching := func(change func(*Instance)) []Instance {
		in := Instance{Unicast: true, Priority: 250}
		change(&in)
		return []Instance{in, in}
	}
	for name, c := range map[string]struct {
		change func(*Instance)
		want   []string
	}{
		"by priority":     {func(*Instance) {}, []string{yieldPath}},
		"sync group":      {func(in *Instance) { in.SyncGroup = "okd" }, []string{yieldPath, leavePath}},
		"nobody preempts": {func(in *Instance) { in.NoPreempt = true }, []string{leavePath}},
		"no peers":        {func(in *Instance) { in.Unicast = false }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if paths := listYieldPaths(watching(c.change)); !slices.Equal(paths, c.want) {
				t.Errorf("it watches %q", paths)
			}
		})
	}
}

// TestDirectoryOfADropInGoesWithIt runs forget.sh and activate.sh.
func TestDirectoryOfADropInGoesWithIt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		there string // what is in the directory
		goes  bool
		calls int
	}{"it is empty": {"", true, 1}, "a person's stays": {"own.conf", false, 1}, "it has not gone": {"virtcluster.conf", false, 0}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "keepalived.service.d")
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			if c.there != "" {
				if err := os.WriteFile(filepath.Join(dir, c.there), nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			end := hosttest.Script{Text: forgetScript, Args: []string{dir + "/virtcluster.conf"}, Programs: map[string]string{"systemctl": ""}}.Run(t)
			if _, err := os.Stat(dir); end.Status != 0 || len(end.Calls) != c.calls || (err != nil) != c.goes {
				t.Errorf("%+v, %v", end, err)
			}
		})
	}
	if end := (hosttest.Script{Text: forgetScript, Args: []string{"/nowhere/at/all"}, Programs: map[string]string{"systemctl": ""}}).Run(t); end.Status != 0 || len(end.Calls) != 0 {
		t.Errorf("where there is none: %+v", end)
	}
}

// TestKeepalivedIsAskedForItsState runs dump.sh with a process that writes its data when it is told to, as keepalived does.
func TestKeepalivedIsAskedForItsState(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	if err := os.Mkdir(root+"/tmp", 0o755); err != nil {
		t.Fatal(err)
	}
	daemon := exec.CommandContext(t.Context(), "/bin/sh", "-c", `trap 'echo "[ { } ]" >"$1/tmp/keepalived.json"' USR1; echo; while :; do sleep 0.05; done`, "sh", root)
	out, err := daemon.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := daemon.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = daemon.Process.Kill(), daemon.Wait() })
	if _, err := out.Read(make([]byte, 1)); err != nil { // the trap is set
		t.Fatal(err)
	}
	dump := func(pid int) hosttest.Ending {
		return hosttest.Script{
			Text: strings.ReplaceAll(dumpScript, "/proc/$pid/root", root), Args: []string{root + "/locks", host.LockDirScript},
			Programs: map[string]string{"systemctl": fmt.Sprintf("echo %d", pid), "keepalived": fmt.Sprintf("echo %d", syscall.SIGUSR1)},
		}.Run(t)
	}
	if end := dump(daemon.Process.Pid); end.Status != 0 || end.Stdout != "[ { } ]\n" {
		t.Errorf("%+v", end)
	}
	if left, err := filepath.Glob(root + "/tmp/*"); err != nil || len(left) != 0 {
		t.Errorf("left are %q", left)
	}
	if info, err := os.Stat(root + "/locks"); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the directory of locks is %v, %v", info, err)
	}
	if end := dump(0); end.Status != 3 {
		t.Errorf("one that does not run: %+v", end)
	}
}

// TestMachineWithoutPythonHearsNothing runs listen.sh with what there may be of python.
func TestMachineWithoutPythonHearsNothing(t *testing.T) {
	t.Parallel()
	text := strings.ReplaceAll(listenScript, "/usr/libexec/platform-python", "none")
	if end := (hosttest.Script{Text: text, Args: []string{"eth1", "4"}, Alone: true}).Run(t); end.Status != 45 {
		t.Errorf("%+v", end)
	}
	end := hosttest.Script{Text: text, Args: []string{"eth1", "6"}, Alone: true, Programs: map[string]string{"python3": `echo "$3 $4"`}}.Run(t)
	if end.Status != 0 || end.Stdout != "eth1 6\n" {
		t.Errorf("%+v", end)
	}
	// Its program is at least one, on a device that there is not.
	path, err := exec.LookPath("python3")
	if err != nil {
		t.Skip(err) // the script takes a machine without python3 for one that cannot be asked
	}
	end = hosttest.Script{Text: text, Args: []string{"nosuchdevice", "4"}, Programs: map[string]string{"python3": "exec " + host.Quote([]string{path}) + ` "$@"`}}.Run(t)
	if end.Status == 0 || strings.Contains(end.Stderr, "SyntaxError") || !strings.Contains(end.Stderr, "Error") {
		t.Errorf("%+v", end)
	}
}

// TestOrderToHandOverIsTakenBack runs yield.sh.
func TestOrderToHandOverIsTakenBack(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, other := filepath.Join(dir, "yield"), filepath.Join(dir, "leave")
	if err := os.WriteFile(file, []byte("0\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(systemdRun string, args ...string) hosttest.Ending {
		return hosttest.Script{Text: yieldScript, Args: append(args, file, other), Programs: map[string]string{"systemctl": "exit 1", "systemd-run": systemdRun}}.Run(t)
	}
	has := func(what, want string) {
		t.Helper()
		if text, err := os.ReadFile(file); string(text) != want {
			t.Errorf("%s: the file has %q, %v", what, text, err)
		}
		if _, err := os.Stat(other); err == nil {
			t.Errorf("%s: a file that was not there is", what)
		}
	}
	if end := run("exit 1", "begin", "-60", "30", ""); end.Status == 0 {
		t.Errorf("without a systemd: %+v", end)
	}
	has("without a systemd", "0\n")
	if end := run("", "look"); end.Status != 0 || end.Stdout != "" {
		t.Errorf("nothing is in force: %+v", end)
	}
	end := run("", "begin", "-60", "30", "")
	if end.Status != 0 || len(end.Calls) != 2 || !strings.HasPrefix(end.Calls[1], "systemd-run --quiet --collect --unit=virtcluster-keepalived-yield --on-active=30 /bin/sh -c ") {
		t.Errorf("%+v", end)
	}
	has("begun", "-60\n")
	if end := run("", "look"); end.Status != 0 || end.Stdout != "yes\n" {
		t.Errorf("it is in force: %+v", end)
	}
	if end := run("", "end"); end.Status != 0 {
		t.Errorf("%+v", end)
	}
	has("ended", "0\n")
	if end := run("", "begin", "60", "30", ""); end.Status != 0 {
		t.Errorf("%+v", end)
	}
	has("it stays before the others", "60\n")
	if end := run("", "look"); end.Status != 0 || end.Stdout != "" {
		t.Errorf("it stays before the others, not behind them: %+v", end)
	}
	// What systemd runs when the time is over does the same.
	run("echo -60 >'"+file+"'; shift 4; \"$@\"; cat '"+file+"' >'"+file+".then'", "begin", "-60", "30", "")
	if then, err := os.ReadFile(file + ".then"); string(then) != "0\n" {
		t.Errorf("when the time is over it has %q, %v", then, err)
	}
}

// TestConnectionsArePutOffWhileAddressesMove runs yield.sh with addresses that go when the order is there.
func TestConnectionsArePutOffWhileAddressesMove(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		nft, ss, ip string
		calls       []string
		rules       bool
	}{
		"none is left":               {"cat >>RULES", "", "", []string{"nft", "ss", "ip", "nft"}, true},
		"one ends":                   {"cat >>RULES", "[ -e SEEN ] || echo connection; : >SEEN", "", []string{"nft", "ss", "ss", "ip", "nft"}, true},
		"the address is still there": {"cat >>RULES", "", "[ -e SEEN ] || echo ' 10.0.0.250/24 '; : >SEEN", []string{"nft", "ss", "ip", "ip", "nft"}, true},
		"nft cannot put them off":    {"exit 1", "", "", []string{"nft", "ip", "nft"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			file, rules := filepath.Join(dir, "yield"), filepath.Join(dir, "rules")
			if err := os.WriteFile(file, []byte("0\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			put := strings.NewReplacer("RULES", "'"+rules+"'", "SEEN", "'"+dir+"/seen'")
			end := hosttest.Script{
				Text: yieldScript, Args: []string{"begin", "-254", "90", "10.0.0.250 fd00::250", file},
				Programs: map[string]string{"systemctl": "", "systemd-run": "", "nft": put.Replace(c.nft), "ss": put.Replace(c.ss), "ip": put.Replace(c.ip)},
			}.Run(t)
			var called []string
			for _, call := range end.Calls[2:] {
				called = append(called, strings.Fields(call)[0])
			}
			if end.Status != 0 || !slices.Equal(called, c.calls) {
				t.Errorf("%+v", end)
			}
			if text, err := os.ReadFile(file); string(text) != "-254\n" {
				t.Errorf("the order is %q, %v", text, err)
			}
			text, err := os.ReadFile(rules)
			if c.rules && (err != nil || !strings.Contains(string(text), "four { 10.0.0.250 }\nadd element inet virtcluster_hand_over six { fd00::250 }\n")) {
				t.Errorf("the rules are %q, %v", text, err)
			}
		})
	}
}
