//go:build failpoints

package failpoint

import (
	"os"
	"regexp"
	"strings"
	"syscall"
	"time"
)

// Of a provider that is built with the tag "failpoints":
//
//	VIRTCLUSTER_FAILPOINT          the name of the place where it ends by SIGKILL, or a script on a machine does
//	VIRTCLUSTER_FAILPOINTS_VISITED the file that gets the name of each place that is passed, one a line, here and on machines
var (
	active  = os.Getenv("VIRTCLUSTER_FAILPOINT")
	visited = os.Getenv("VIRTCLUSTER_FAILPOINTS_VISITED")
)

func noteVisit(name string) {
	if visited == "" {
		return
	}
	if f, err := os.OpenFile(visited, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600); err == nil {
		_, _ = f.WriteString(name + "\n")
		_ = f.Close()
	}
}

// Hit ends the provider where a test says so.
func Hit(name string) {
	noteVisit(name)
	if name == active {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		time.Sleep(time.Minute) // until the signal has come
	}
}

var line = regexp.MustCompile(`(?m)^[ \t]*# failpoint (\S+)$`)

// Arm has a script end where a test says so: as if its machine had killed it.
func Arm(script string) string {
	return line.ReplaceAllStringFunc(script, func(found string) string {
		name := line.FindStringSubmatch(found)[1]
		command := ":"
		if visited != "" {
			command = "echo " + name + " >>'" + visited + "'"
		}
		if name == active {
			command += "; kill -KILL $$"
		}
		return strings.Replace(found, "# failpoint "+name, command, 1)
	})
}
