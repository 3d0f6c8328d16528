package clusterconfig

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/hosttest"
)

// TestDaemonBeginsAnewUntilItsContainerEnds runs supervise.sh.
func TestDaemonBeginsAnewUntilItsContainerEnds(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text := strings.ReplaceAll(superviseScript, "/tmp/stopped", dir+"/stopped")
	end := hosttest.Script{
		Text: `exec bash -c "$@"`, Args: []string{text, "supervise", dir + "/socket", "keepalived", "HUP", "10.0.100.240 10.0.100.241", "keepalived", "--dont-fork"},
		Programs: map[string]string{
			"socat": "exec /bin/sleep 60", "pkill": "", "sleep": "",
			"ip": `case $* in *240) echo '2: eth1    inet 10.0.100.240/24 scope global eth1' ;; esac`,
			// It ends by itself twice; the third time its container is ended.
			"keepalived": `echo began >>"` + dir + `/began"; [ "$(wc -l <"` + dir + `/began")" -lt 3 ] || { kill -TERM $PPID; /bin/sleep 0.5; }`,
		},
	}.Run(t)
	calls := slices.DeleteFunc(slices.Clone(end.Calls), func(s string) bool { return strings.HasPrefix(s, "socat ") })
	once := []string{"ip -o address show to 10.0.100.240", "ip address del 10.0.100.240/24 dev eth1", "ip -o address show to 10.0.100.241", "keepalived --dont-fork"}
	want := slices.Concat(once, []string{"sleep 1"}, once, []string{"sleep 1"}, once, []string{"pkill -TERM -o -x keepalived"})
	if !slices.Equal(calls, want) || !slices.Contains(end.Calls, "socat UNIX-LISTEN:"+dir+"/socket,fork EXEC:bash -c heed") {
		t.Errorf("%+v", end)
	}
}

// TestDaemonHeedsWhatItsMonitorSays runs what supervise.sh has for each connection of a monitor.
func TestDaemonHeedsWhatItsMonitorSays(t *testing.T) {
	t.Parallel()
	stopped := filepath.Join(t.TempDir(), "stopped")
	_, heed, _ := strings.Cut(superviseScript, "heed() {")
	heed, _, _ = strings.Cut(heed, "\n}\n")
	end := hosttest.Script{
		Text: `exec bash -c "$@"`, Args: []string{"daemon=haproxy signal=USR2 stopped=" + stopped + "\nheed() {" + heed + "\n}\nheed\n[ -e $stopped ]"},
		Input: "stop\nsomething\nreload\nreload\nstop\n", Programs: map[string]string{"pkill": ""},
	}.Run(t)
	want := []string{"pkill -TERM -o -x haproxy", "pkill -USR2 -o -x haproxy", "pkill -USR2 -o -x haproxy", "pkill -TERM -o -x haproxy"}
	if end.Status != 0 || !slices.Equal(end.Calls, want) {
		t.Errorf("%+v", end)
	}
}
