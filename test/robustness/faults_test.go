package robustness

import (
	"bytes"
	"compress/gzip"
	"context"
	_ "embed"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// fault is something that happens to a machine while states are at work: it begins after a time, and ends when they have ended.
type fault struct {
	Kind    string        `json:"kind"`
	Machine string        `json:"machine"`
	Values  []string      `json:"values,omitempty"`
	After   time.Duration `json:"after"`
}

//go:embed faults.sh
var faultScript string

// programs are what the provider asks on machines.
var programs = []string{"ip", "nft", "systemctl", "tar", "sha256sum", "rndc", "haproxy", "stat"}

// mishap is a kind of fault, and how its values are drawn.
type mishap struct {
	kind   string
	weight int
	draw   func(w *world) []string
}

var mishaps = []mishap{
	{"cut", 4, nothing},
	{"half-open", 2, nothing},
	{"lost", 3, nothing},
	{"input", 4, func(w *world) []string {
		return []string{strconv.Itoa(1 + w.rng.IntN(6)), strconv.Itoa(2 + w.rng.IntN(3))}
	}},
	{"restart", 2, func(w *world) []string { return []string{daemons[w.rng.IntN(len(daemons))]} }},
	{"systemd", 1, nothing},
	{"libvirtd", 2, nothing},
	{"reboot", 1, nothing},
	{"reset", 1, nothing},
	{"garbage", 2, oneOf(programs)},
	{"much", 1, oneOf(programs)},
	{"slow", 2, oneOf(programs)},
	{"fails", 2, oneOf(programs)},
	{"sparse", 1, func(*world) []string { return []string{sparse()} }},
	{"clock", 1, oneOf([]string{"+1 day", "-1 day", "+10 years"})},
	{"readonly", 2, oneOf([]string{"/etc/haproxy", "/etc/bind", "/etc/keepalived", "/var/lib/virtcluster"})},
	{"full", 2, oneOf([]string{"/etc/haproxy", "/etc/bind", "/var/lib/virtcluster"})},
}

// daemons are those that restart, where they run.
var daemons = []string{"named", "haproxy", "keepalived", "ovn-central", "openvswitch-switch"}

func nothing(*world) []string { return nil }

func oneOf(all []string) func(*world) []string {
	return func(w *world) []string { return []string{all[w.rng.IntN(len(all))]} }
}

// sparse is the archive of one file that says it has 2 GiB of nothing, as base64 of gzip.
func sparse() string {
	const size = 2 << 30
	b := make([]byte, 512)
	copy(b, "etc/x")
	copy(b[100:], "0000644\x000000000\x000000000\x0000000000000\x00")
	b[156] = 'S'
	copy(b[257:], "ustar  \x00")
	copy(b[386:], fmt.Sprintf("%011o\x0000000000000\x00", size))
	copy(b[483:], fmt.Sprintf("%011o\x00", size))
	copy(b[148:], "        ")
	sum := 0
	for _, c := range b {
		sum += int(c)
	}
	copy(b[148:], fmt.Sprintf("%06o\x00 ", sum))
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, _ = z.Write(append(b, make([]byte, 1024)...))
	_ = z.Close()
	return base64.StdEncoding.EncodeToString(packed.Bytes())
}

func sandboxScript(name string) string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(file), "../sandbox", name)
}

// begin has the fault happen, now. Between a machine and the hypervisor it is a filter, as a broken network would be.
func (f fault) begin(ctx context.Context) error {
	switch f.Kind {
	case "half-open":
		return f.filter(ctx, "out")
	case "lost":
		// Commands arrive and are carried out; what they answer does not come back.
		if err := f.filter(ctx, "in"); err != nil {
			return err
		}
		time.Sleep(2 * time.Second)
		return errors.Join(f.script(ctx, "begin", "cut"), f.end(ctx))
	case "libvirtd":
		return restartLibvirtd(ctx)
	case "reboot", "reset":
		argv := []string{f.Machine}
		if f.Kind == "reset" {
			argv = []string{"--now", f.Machine}
		}
		out, err := exec.CommandContext(ctx, sandboxScript("reboot"), argv...).CombinedOutput()
		if err != nil {
			return fmt.Errorf("%s of %s: %w: %s", f.Kind, f.Machine, err, out)
		}
		return nil
	}
	return f.script(ctx, "begin", f.Kind)
}

func (f fault) script(ctx context.Context, verb, kind string) error {
	return sensible(acctest.Try(ctx, f.Machine, append([]string{"sh", "-c", faultScript, "faults.sh", verb, kind}, f.Values...)...))
}

// end leaves nothing of the fault.
func (f fault) end(ctx context.Context) error {
	switch f.Kind {
	case "half-open", "lost":
		out, err := exec.CommandContext(ctx, "nft", "delete", "table", "ip", "robustness").CombinedOutput()
		if err != nil && !strings.Contains(string(out), "No such file") {
			return fmt.Errorf("nft: %w: %s", err, out)
		}
	case "reboot", "reset", "libvirtd":
		return nil
	}
	return f.script(ctx, "end", f.Kind)
}

// filter drops what goes to a machine's SSH, or what comes from it.
func (f fault) filter(ctx context.Context, direction string) error {
	chain, match := "output", "ip daddr "+acctest.Address(f.Machine)+" tcp dport 22"
	if direction == "in" {
		chain, match = "input", "ip saddr "+acctest.Address(f.Machine)+" tcp sport 22"
	}
	rules := fmt.Sprintf("table ip robustness {\n chain c {\n type filter hook %s priority 0;\n %s drop\n }\n}\n", chain, match)
	cmd := exec.CommandContext(ctx, "nft", "-f", "-")
	cmd.Stdin = strings.NewReader(rules)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("nft: %w: %s", err, out)
	}
	if direction == "out" {
		// Longer than a moment, shorter than what gives a connection up.
		time.Sleep(6 * time.Second)
		return f.end(ctx)
	}
	return nil
}

// restartLibvirtd is what systemctl restart libvirtd would do on a hypervisor: guests go on.
func restartLibvirtd(ctx context.Context) error {
	const script = `kill "$(cat /run/sandbox/libvirtd.pid)"
while kill -0 "$(cat /run/sandbox/libvirtd.pid)" 2>/dev/null; do sleep 0.1; done
libvirtd >>/run/sandbox/libvirtd.out 2>&1 </dev/null &
echo $! >/run/sandbox/libvirtd.pid
for _ in $(seq 300); do virsh -q version >/dev/null 2>&1 && exit; sleep 0.1; done
exit 1`
	cmd := exec.CommandContext(ctx, "bash", "-c", script)
	cmd.WaitDelay = time.Second // libvirtd keeps nothing of it open, but a test binary is careful
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer null.Close() //nolint:errcheck // nothing was written
	cmd.Stdout, cmd.Stderr = null, null
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("restart libvirtd: %w", err)
	}
	return nil
}

// reboots says whether the machine forgets what was only in its memory.
func (f fault) reboots() bool { return f.Kind == "reboot" || f.Kind == "reset" }
