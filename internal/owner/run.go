package owner

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// begun counts the runs of this process: Terraform has a process for each, and tests have one for many.
var begun atomic.Int64

// Run is one run of a configured provider: what it gave out, and what it was told of its state. A nil Run is one of a provider that is not
// configured yet, which makes nothing.
type Run struct {
	number int64
	// made are the ids that this run gave out: what carries one of them was not left behind by a killed run.
	made sync.Map
	// inState are the ids of what this run's state has, as far as this provider was told: what it read, and what
	// it plans to change or to remove, which it does again while it applies. A resource that is replaced, or that another one of its name takes the place of, is among them.
	inState sync.Map
	// placed has which thing this run has put where, by places of the packages that put them; see Place.
	placed sync.Map
}

// BeginRun returns a new run: what was made before was made by another one.
func BeginRun() *Run { return &Run{number: begun.Add(1)} }

// Word returns the word by which marks name the run while it makes something: a fingerprint of the computer, the process, when that began,
// and which of its runs it is.
func (r *Run) Word() string {
	if r == nil {
		return process() + ".0"
	}
	return fmt.Sprintf("%s.%d", process(), r.number)
}

// Place notes that this run has put a thing in a place, so that none of its resources takes it away from another: one thing would be
// described twice. Who calls it chooses what a place is, of a type of its own.
func (r *Run) Place(place any, thing string) {
	if r != nil {
		r.placed.Store(place, thing)
	}
}

// FindPlaced returns what this run has put in a place; false where it has put nothing there.
func (r *Run) FindPlaced(place any) (thing string, there bool) {
	if r == nil {
		return "", false
	}
	found, there := r.placed.Load(place)
	thing, _ = found.(string)
	return thing, there
}

// Remove forgets that this run has put a thing in a place.
func (r *Run) Remove(place any, thing string) {
	if r != nil {
		r.placed.CompareAndDelete(place, thing)
	}
}

var process = sync.OnceValue(func() string {
	return fmt.Sprintf("%s.%d.%s", processSpace(), os.Getpid(), processStart(os.Getpid()))
})

// processSpace tells one table of processes from another: that of a computer since it was started, or of a container.
func processSpace() string {
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	namespace, _ := os.Readlink("/proc/self/ns/pid")
	sum := sha256.Sum256([]byte(computerName() + "\x00" + strings.TrimSpace(string(boot)) + "\x00" + namespace))
	return hex.EncodeToString(sum[:4])
}

// hasEnded says whether a run is over that made something in this workspace, by its word: not this one, and none of a process that is alive.
// Of another computer, or of this one before it was started again, it is: no two runs work at one state at once, which its lock sees
// to, and those of one run's providers are on one computer.
func (r *Run) hasEnded(run string) bool {
	words := strings.Split(run, ".")
	if run == r.Word() || len(words) != 4 {
		return false // who cannot be told may be at work
	}
	if strings.Join(words[:3], ".") == process() {
		return true // another run of this process
	}
	pid, err := strconv.Atoi(words[1])
	return err != nil || words[0] != processSpace() || processStart(pid) != words[2]
}

// IsGone says whether a run is over for sure, by its word: its process was one of this computer, and is not there any more.
func IsGone(run string) bool {
	words := strings.Split(run, ".")
	if len(words) != 4 || words[0] != processSpace() || strings.Join(words[:3], ".") == process() {
		return false
	}
	pid, err := strconv.Atoi(words[1])
	return err != nil || processStart(pid) != words[2]
}

// noProcess is the start of a process that is not there.
const noProcess = "none"

// processStart returns when a process began, as a word that no later process of its number has: from Linux by /proc
// (proc_pid_stat(5), field 22), from other systems by ps.
func processStart(pid int) string {
	if text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat"); err == nil {
		// The second field is the program's name in parentheses, which may have spaces and parentheses in it.
		after := string(text[strings.LastIndexByte(string(text), ')')+1:])
		if fields := strings.Fields(after); len(fields) > 19 && fields[0] != "Z" {
			return fields[19]
		}
		return noProcess
	}
	if _, err := os.Stat("/proc/self/stat"); err == nil {
		return noProcess
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	text, err := exec.CommandContext(ctx, "ps", "-o", "lstart=", "-p", strconv.Itoa(pid)).Output()
	if fields := strings.Fields(string(text)); err == nil && len(fields) > 0 {
		sum := sha256.Sum256([]byte(strings.Join(fields, " ")))
		return hex.EncodeToString(sum[:4])
	}
	if found, err := os.FindProcess(pid); err == nil && pid == os.Getpid() {
		_ = found.Release()
		return "unknown"
	}
	return noProcess
}
