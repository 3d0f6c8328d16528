package haproxy

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/hosttest"
)

// TestCheckedIsWhatIsStaged runs check.sh, with and without a mount namespace, and with a mount that copies.
func TestCheckedIsWhatIsStaged(t *testing.T) {
	t.Parallel()
	const accepts = `case $* in *stdin*) exit 1 ;; esac; [ "$1" = -c ] && cat "$3"`
	for name, c := range map[string]struct {
		unshare, mount, haproxy, client string
		first                           bool // the main file is there already
		says                            string
		status                          int
	}{
		"over the live file":          {unshare: `shift; exec "$@"`, mount: `cp "$2" "$3"`, haproxy: accepts, first: true, says: "MAIN staged"},
		"where it may not be mounted": {unshare: `shift; exec "$@"`, mount: "echo no >&2; exit 1", haproxy: accepts, first: true, status: 70},
		"without a namespace":         {unshare: "exit 1", haproxy: accepts, first: true, says: "STAGED staged"},
		"of a file that comes":        {unshare: `shift; exec "$@"`, haproxy: accepts, says: "STAGED staged"},
		"what it refuses":             {unshare: "exit 1", haproxy: "echo refused; exit 1", says: "refused", status: 1},
		"without the authorities":     {unshare: "exit 1", haproxy: `case $* in *stdin*) exit 0 ;; esac; echo asked twice`},
		"with a client of a person's": {unshare: "exit 1", haproxy: `case $* in *stdin*) exit 0 ;; esac; echo asked with all`, client: "set", says: "asked with all"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			main, stage := filepath.Join(root, "haproxy.cfg"), filepath.Join(root, "stage")
			if err := os.MkdirAll(stage+root, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(stage+main, []byte("staged\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			if c.first {
				if err := os.WriteFile(main, []byte("live\n"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			end := hosttest.Script{Text: checkScript, Args: []string{main, root + "/conf.d", c.client, stage, "", checkScript}, Programs: map[string]string{
				"unshare": c.unshare, "mount": c.mount, "haproxy": c.haproxy, "systemctl": "",
			}}.Run(t)
			// Where it is mounted, the checker is asked about the live path.
			file, says := "STAGED", strings.TrimSpace(end.Stdout)
			if slices.ContainsFunc(end.Calls, func(s string) bool { return strings.HasSuffix(s, "-f "+main) }) {
				file = "MAIN"
			}
			if strings.HasSuffix(c.says, " staged") {
				says = file + " " + says
			}
			if end.Status != c.status || says != c.says {
				t.Errorf("%+v", end)
			}
		})
	}
}

// TestDirectoryIsCheckedWhereTheUnitReadsIt runs check.sh with a unit such as Fedora's.
func TestDirectoryIsCheckedWhereTheUnitReadsIt(t *testing.T) {
	t.Parallel()
	stage := t.TempDir()
	if err := os.MkdirAll(stage+"/etc/haproxy/conf.d", 0o755); err != nil {
		t.Fatal(err)
	}
	for unit, want := range map[string]string{
		"ExecStart=haproxy -f $CONFIG -f /etc/haproxy/conf.d": "haproxy -c -f " + stage + "/none.cfg -f " + stage + "/etc/haproxy/conf.d",
		"ExecStart=haproxy -f $CONFIG":                        "haproxy -c -f " + stage + "/none.cfg",
	} {
		t.Run(unit, func(t *testing.T) {
			end := hosttest.Script{Text: checkScript, Args: []string{"/none.cfg", "/etc/haproxy/conf.d", "set", stage, "", checkScript}, Programs: map[string]string{
				"haproxy": "", "systemctl": "echo '" + unit + "'",
			}}.Run(t)
			if end.Status != 0 || !slices.Contains(end.Calls, want) {
				t.Errorf("%s: %+v", unit, end)
			}
		})
	}
}

// TestSocketIsAskedByWhatThereIs runs talk.sh by each of its programs.
func TestSocketIsAskedByWhatThereIs(t *testing.T) {
	t.Parallel()
	for _, program := range []string{"socat", "perl", "python3"} {
		t.Run(program, func(t *testing.T) {
			t.Parallel()
			path, err := exec.LookPath(program)
			if err != nil {
				t.Skip(err) // the script takes whichever of the three a machine has
			}
			socket := filepath.Join(t.TempDir(), "s")
			listener, err := net.Listen("unix", socket)
			if err != nil {
				t.Fatal(err)
			}
			defer listener.Close()
			go func() {
				conn, err := listener.Accept()
				if err != nil {
					return
				}
				defer conn.Close()
				question := make([]byte, 64)
				n, _ := conn.Read(question)
				fmt.Fprintf(conn, "asked %s", question[:n])
			}()
			end := hosttest.Script{Text: talkScript, Args: []string{socket}, Input: "show info\n", Alone: true, Programs: map[string]string{
				program: "PATH=/usr/bin:/bin exec " + host.Quote([]string{path}) + ` "$@"`,
			}}.Run(t)
			if end.Status != 0 || end.Stdout != "asked show info\n" {
				t.Errorf("%+v", end)
			}
		})
	}
	t.Run("none", func(t *testing.T) {
		t.Parallel()
		end := hosttest.Script{Text: talkScript, Args: []string{"/nowhere"}, Alone: true}.Run(t)
		if end.Status != 69 || end.Stderr != "none of socat, perl and python3 is installed\n" {
			t.Errorf("%+v", end)
		}
	})
}

// TestRunningProcessMayOpenTheFilesOfItsDropIn runs unit.sh: a process that may open fewer is given more.
func TestRunningProcessMayOpenTheFilesOfItsDropIn(t *testing.T) {
	t.Parallel()
	pid := fmt.Sprint(os.Getpid())
	for name, c := range map[string]struct {
		files, main string
		given       bool
	}{
		"a running one":              {"99999999999", pid, true},
		"one that may have more":     {"1", pid, false},
		"one that does not run":      {"99999999999", "0", false},
		"one whose drop-in has gone": {"", pid, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "haproxy.service.d")
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			end := hosttest.Script{Text: unitScript, Args: []string{dir, c.files}, Programs: map[string]string{
				"systemctl": "[ $1 != show ] || echo " + c.main, "prlimit": "exit 1",
			}}.Run(t)
			given := slices.Contains(end.Calls, "prlimit --pid="+pid+" --nofile=:"+c.files)
			if end.Status != 0 || given != c.given || end.Calls[0] != "systemctl daemon-reload" {
				t.Errorf("%+v", end)
			}
			if _, err := os.Stat(dir); err == nil {
				t.Error("its empty directory stays")
			}
		})
	}
}

// TestReloadWaitsForTheNewWorker runs activate.sh with a master that has workers, as a shell.
func TestReloadWaitsForTheNewWorker(t *testing.T) {
	t.Parallel()
	master := func(t *testing.T, heeds string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", `trap '`+heeds+`' USR2; sleep 60 & echo; while :; do wait; sleep 0.1; done`)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // its workers end with it
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _, _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL), cmd.Wait() })
		if _, err := out.Read(make([]byte, 1)); err != nil { // the trap is set
			t.Fatal(err)
		}
		pid := fmt.Sprint(cmd.Process.Pid)
		if _, err := os.Stat("/proc/" + pid + "/task/" + pid + "/children"); err != nil {
			t.Skip(err) // a kernel without CONFIG_PROC_CHILDREN has not what the script reads
		}
		return pid
	}
	const signal = "{ path=/usr/sbin/haproxy ; argv[]=/usr/sbin/haproxy -Ws -c -q -f $CONFIG ; }\nExecReload={ path=/bin/kill ; argv[]=/bin/kill -USR2 $MAINPID ; }"
	for name, c := range map[string]struct {
		heeds, reload, state, words string
		status                      int
		call                        string
	}{
		"by the signal":              {heeds: "sleep 60 &", reload: signal, state: "active"},
		"by the unit's own command":  {heeds: "sleep 60 &", reload: "{ path=/bin/reload ; argv[]=/bin/reload ; }", state: "active", call: "systemctl reload haproxy.service"},
		"that does not come":         {heeds: ":", reload: signal, state: "active", status: 1, words: "Failed to load"},
		"of one that does not run":   {heeds: ":", reload: signal, state: "inactive", call: "systemctl start haproxy.service"},
		"of one that does not start": {heeds: ":", reload: signal, state: "failed", status: 2, words: "Failed to load", call: "systemctl start haproxy.service"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pid := master(t, c.heeds)
			started := time.Now()
			end := hosttest.Script{Text: activateScript, Args: []string{"", talkScript}, Programs: map[string]string{
				"systemctl": fmt.Sprintf(`case $1 in
				show) cat <<'END'
ActiveState=%s
MainPID=%s
ExecReload=%s
END
				;;
				reload) kill -USR2 %[2]s ;;
				start) [ %[1]s = inactive ] ;;
				esac`, c.state, pid, c.reload),
				"journalctl": "[ $1 = --sync ] || echo Failed to load worker",
			}}.Run(t)
			if end.Status != c.status || !strings.Contains(end.Stderr, c.words) || c.words == "" && end.Stderr != "" {
				t.Errorf("after %s: %+v", time.Since(started), end)
			}
			if reloads := slices.Contains(end.Calls, c.call); c.call != "" && !reloads {
				t.Errorf("it does not call %q: %q", c.call, end.Calls)
			}
		})
	}
}
