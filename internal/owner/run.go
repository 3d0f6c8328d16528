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

// begun counts the servers of this process: Terraform has a process for each, and tests have one for many.
var begun atomic.Int64

// BeginRun says that a server begins: what was made before was made by another run.
func BeginRun() {
	begun.Add(1)
	made.Clear()
	inState.Clear()
}

// Run returns the word by which marks name this run while it makes something: a fingerprint of the computer, the process, when
// that began, and which of its servers it is.
func Run() string { return fmt.Sprintf("%s.%d", process(), begun.Load()) }

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

// hasEnded says whether a run is over that made something in this workspace: not this one, and none of a process that is alive.
// Of another computer, or of this one before it was started again, it is: no two runs work at one state at once, which its lock sees
// to, and those of one run's providers are on one computer.
func hasEnded(run string) bool {
	words := strings.Split(run, ".")
	if run == Run() || len(words) != 4 {
		return false // who cannot be told may be at work
	}
	if strings.Join(words[:3], ".") == process() {
		return words[3] != strconv.FormatInt(begun.Load(), 10)
	}
	pid, err := strconv.Atoi(words[1])
	return err != nil || words[0] != processSpace() || processStart(pid) != words[2]
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
