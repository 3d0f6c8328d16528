package image_test

import (
	"bytes"
	"cmp"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

const head = "terraform {\n  required_providers {\n    virtcluster = { source = \"virtcluster/virtcluster\" }\n  }\n}\n"

// cli is a directory with a configuration, and the CLI that works in it with the sandbox's provider.
type cli struct {
	t   *testing.T
	dir string
}

func newCLI(t *testing.T, config string) *cli {
	t.Helper()
	c := &cli{t: t, dir: t.TempDir()}
	c.configure(config)
	return c
}

// start runs a subcommand in the background.
func (c *cli) start(argv ...string) *exec.Cmd {
	c.t.Helper()
	cmd := exec.Command(cmp.Or(os.Getenv("TF_ACC_TERRAFORM_PATH"), "terraform"), argv...)
	log, err := os.OpenFile(filepath.Join(c.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		c.t.Fatal(err)
	}
	defer log.Close() //nolint:errcheck // the command has its own
	cmd.Dir, cmd.Stdout, cmd.Stderr = c.dir, log, log
	cmd.Env = append(os.Environ(), "TF_LOG_PROVIDER=INFO")
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	return cmd
}

// log is what all commands printed and logged so far.
func (c *cli) log() string {
	text, err := os.ReadFile(filepath.Join(c.dir, "log"))
	if err != nil && !os.IsNotExist(err) { // nothing ran yet
		c.t.Error(err)
	}
	return string(text)
}

func (c *cli) run(argv ...string) {
	c.t.Helper()
	if err := c.start(argv...).Wait(); err != nil {
		c.t.Fatalf("%s: %v\n%s", strings.Join(argv, " "), err, c.log())
	}
}

// provider finds the provider's process below the CLI's.
func provider(t *testing.T, parent int) int {
	t.Helper()
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", parent, parent))
	if err == nil && len(bytes.TrimSpace(children)) == 0 { // another thread of the CLI started it
		tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", parent))
		for _, task := range tasks {
			more, _ := os.ReadFile(task)
			children = append(children, more...)
		}
	}
	for _, field := range strings.Fields(string(children)) {
		name, _ := os.ReadFile("/proc/" + field + "/cmdline")
		if strings.Contains(string(name), "terraform-provider-virtcluster") {
			pid, _ := strconv.Atoi(field)
			return pid
		}
	}
	t.Fatalf("no provider runs below %d: children %q, %v", parent, children, err)
	return 0
}

func underWay() bool {
	info, err := os.Stat(filepath.Join(poolDir, "i"))
	return err == nil && info.Size() > 1<<20
}

// slow serves content, slowly while it is told to.
type slow struct {
	content []byte
	slowly  atomic.Bool
}

func (s *slow) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Length", strconv.Itoa(len(s.content)))
	for rest := s.content; len(rest) > 0; {
		n := min(256<<10, len(rest))
		if _, err := w.Write(rest[:n]); err != nil {
			return
		}
		rest = rest[n:]
		if s.slowly.Load() {
			w.(http.Flusher).Flush()
			time.Sleep(100 * time.Millisecond)
		}
	}
}

func TestAccImageUploadInterrupted(t *testing.T) {
	acctest.InSandbox(t)
	server := &slow{content: disk(8)}
	web := httptest.NewServer(server)
	defer web.Close()
	c := newCLI(t, config(web.URL+"/image", checksum(server.content)))
	defer c.run("destroy", "-auto-approve", "-no-color")

	// Ctrl-C: the volume goes.
	server.slowly.Store(true)
	apply := c.start("apply", "-auto-approve", "-no-color")
	acctest.Eventually(t, "for the upload", underWay)
	if err := apply.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if err := apply.Wait(); err == nil {
		t.Error("an interrupted apply passes for a whole one")
	}
	if left := volumes(t); left != "" {
		t.Errorf("Ctrl-C leaves %s\n%s", left, c.log())
	}

	// SIGKILL: the next apply puts it right.
	apply = c.start("apply", "-auto-approve", "-no-color")
	acctest.Eventually(t, "for the upload", underWay)
	acctest.Eventually(t, "for progress in the log", func() bool {
		return regexp.MustCompile(`uploading image:.*mib=`).MatchString(c.log())
	})
	if err := syscall.Kill(provider(t, apply.Process.Pid), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := apply.Wait(); err == nil {
		t.Error("an apply without its provider passes for a whole one")
	}
	server.slowly.Store(false)
	c.run("apply", "-auto-approve", "-no-color")
	if err := stored(t, server.content)(nil); err != nil {
		t.Error(err)
	}
	c.run("plan", "-detailed-exitcode", "-no-color")
}
