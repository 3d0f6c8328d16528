package faults

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/sshhost"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/haproxy"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/haproxy/haproxytest"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// frontends is a configuration of so many frontends; the one with the number bad has a line that HAProxy refuses.
const frontends = `
terraform {
  required_providers {
    virtcluster = { source = "virtcluster/virtcluster" }
  }
}
provider "virtcluster" {
  ssh = { private_key_file = %[1]q }
}
variable "maxconn" {
  type    = number
  default = 100
}
variable "bad" {
  type    = number
  default = -1
}
resource "terraform_data" "bad" { input = var.bad } # not known at plan, which would refuse it
resource "virtcluster_haproxy_frontend" "test" {
  count        = %[3]d
  service_node = %[2]q
  name         = "%[4]s-${count.index}"
  mode         = "http"
  timeouts     = { client = "5s" }
  binds        = [{ address = "*", port = %[5]d + count.index }]
  maxconn      = var.maxconn
  extra_config = count.index == terraform_data.bad.output ? "nonsense" : "http-request return status 200 content-type text/plain string %[4]s"
}
`

// cli is a directory with a configuration, and Terraform with the sandbox's provider.
type cli struct {
	t    *testing.T
	dir  string
	runs int
}

func newCLI(t *testing.T, config string) *cli {
	t.Helper()
	c := &cli{t: t, dir: t.TempDir()}
	if err := os.WriteFile(filepath.Join(c.dir, "main.tf"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	return c
}

// start runs a subcommand in the background; its output and its log go to the file that is returned.
func (c *cli) start(argv ...string) (*exec.Cmd, string) {
	c.t.Helper()
	c.runs++
	name := filepath.Join(c.dir, "log"+strconv.Itoa(c.runs))
	log, err := os.Create(name)
	if err != nil {
		c.t.Fatal(err)
	}
	defer log.Close() //nolint:errcheck // the command has its own
	program, err := exec.LookPath(cmp.Or(os.Getenv("TF_ACC_TERRAFORM_PATH"), "terraform"))
	if err != nil {
		program = "tofu"
	}
	cmd := exec.Command(program, argv...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = c.dir, log, log
	cmd.Env = append(os.Environ(), "TF_LOG_PROVIDER=INFO", "TF_IN_AUTOMATION=1")
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	return cmd, name
}

func (c *cli) read(name string) string {
	c.t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		c.t.Fatal(err)
	}
	return string(text)
}

// apply changes everything at once, and returns what was printed and whether it went well.
func (c *cli) apply(variables ...string) (string, bool) {
	c.t.Helper()
	cmd, log := c.start(append([]string{"apply", "-no-color", "-auto-approve", "-parallelism=100"}, variables...)...)
	err := cmd.Wait()
	return c.read(log), err == nil
}

func (c *cli) mustApply(variables ...string) {
	c.t.Helper()
	if out, ok := c.apply(variables...); !ok {
		c.t.Fatalf("apply %v: %s", variables, out)
	}
}

// settled fails the test unless a plan is empty.
func (c *cli) settled(variables ...string) {
	c.t.Helper()
	cmd, log := c.start(append([]string{"plan", "-no-color", "-detailed-exitcode"}, variables...)...)
	if err := cmd.Wait(); err != nil {
		c.t.Errorf("a plan after the apply: %v: %s", err, c.read(log))
	}
}

// haproxyNode is the first service node with HAProxy as Debian brings it, now and when the test has ended.
func haproxyNode(t *testing.T, opts sshhost.Options) (id string) {
	t.Helper()
	id, _ = haproxytest.Node(t)
	t.Cleanup(func() {
		h := sshhost.New(sshhost.Target{User: "root", Host: acctest.ServiceNodes(t, 1)[0]}, opts)
		defer h.Close()
		engine := new(transaction.Engine)
		drop := transaction.Edit{Owner: "faults", Removes: true, Apply: dropFrontends}
		if err := engine.Commit(context.Background(), h, haproxy.Daemon{}, drop); err != nil {
			t.Errorf("drop what is left: %v", err)
		}
		if _, _, err := engine.GiveBack(context.Background(), h, haproxy.Daemon{}); err != nil {
			t.Errorf("give back: %v", err)
		}
		haproxytest.Cleanup(t, "systemctl", "stop", "haproxy.service")
	})
	return id
}

var ownedFrontend = regexp.MustCompile(`^HAProxy frontend "([^"]+)"`)

// dropFrontends drops every frontend that has an owner.
func dropFrontends(tree transaction.Tree) error {
	for _, part := range haproxy.Owners(tree) {
		if m := ownedFrontend.FindStringSubmatch(part); m != nil {
			if err := haproxy.DropProxy(tree, "frontend", m[1]); err != nil {
				return err
			}
		}
	}
	return nil
}

// reloads counts the reloads of HAProxy since the machine booted, by what its master process says of them.
func reloads(t *testing.T) int {
	t.Helper()
	out := acctest.On(t, "svc-1", "sh", "-c", `journalctl --sync; journalctl --quiet --no-pager --output=cat --unit=haproxy.service | grep -c 'Reloading HAProxy$' || :`)
	n, err := strconv.Atoi(out)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestAccHundredResourcesCostThreeReloadsAndOneBadOneFailsAlone(t *testing.T) {
	opts := begin(t)
	const number, most = 100, 3
	c := newCLI(t, fmt.Sprintf(frontends, os.Getenv("SANDBOX_SSH_KEY"), haproxyNode(t, opts), number, "many", 21000))
	// carry counts the frontends that HAProxy serves with a maxconn: column 7 of its statistics.
	carry := func(maxconn int) string {
		return acctest.On(t, "svc-1", "sh", "-c", `echo "show stat" | socat - UNIX-CONNECT:/run/haproxy/admin.sock | awk -F, -v want="$1" '$1 ~ /^many-/ && $7 == want' | wc -l`, "sh", strconv.Itoa(maxconn))
	}
	c.mustApply()
	for _, maxconn := range []int{200, 300} {
		was := reloads(t)
		c.mustApply("-var=maxconn=" + strconv.Itoa(maxconn))
		if n := reloads(t) - was; n < 1 || n > most {
			t.Errorf("%d resources cost %d reloads", number, n)
		} else {
			t.Logf("%d resources cost %d reloads", number, n)
		}
		if n := carry(maxconn); n != strconv.Itoa(number) {
			t.Errorf("%s of %d are changed", n, number)
		}
	}
	was := reloads(t)
	out, ok := c.apply("-var=maxconn=400", "-var=bad=37")
	if n := strings.Count(out, "Error: "); ok || n != 1 || !strings.Contains(out, `"many-37"`) || !strings.Contains(out, "nonsense") {
		t.Errorf("want one error, of the 37th, with HAProxy's words: %d: %s", n, out)
	}
	if n := reloads(t) - was; n > most {
		t.Errorf("with a bad one they cost %d reloads", n)
	} else {
		t.Logf("with a bad one they cost %d reloads", n)
	}
	if n := carry(400); n != strconv.Itoa(number-1) {
		t.Errorf("%s of %d good ones are changed", n, number-1)
	}
	c.mustApply("-var=maxconn=400")
	c.settled("-var=maxconn=400")
	cmd, log := c.start("destroy", "-no-color", "-auto-approve", "-parallelism=100")
	if err := cmd.Wait(); err != nil {
		t.Errorf("destroy: %v: %s", err, c.read(log))
	}
}

func TestAccTwoTerraformRunsTakeTurns(t *testing.T) {
	opts := begin(t)
	node := haproxyNode(t, opts)
	h := machine(t, opts)
	// What holds them up first is this process, so that both surely wait.
	unlock, err := h.Lock(t.Context(), "haproxy")
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	const each = 10
	names := []string{"first", "second"}
	var runs []*cli
	var cmds []*exec.Cmd
	var logs []string
	for i, name := range names {
		c := newCLI(t, fmt.Sprintf(frontends, os.Getenv("SANDBOX_SSH_KEY"), node, each, name, 22000+1000*i))
		cmd, log := c.start("apply", "-no-color", "-auto-approve", "-parallelism=3")
		runs, cmds, logs = append(runs, c), append(cmds, cmd), append(logs, log)
	}
	host, _ := os.Hostname()
	word := fmt.Sprintf("@%s, pid %d, since ", host, os.Getpid())
	for i, log := range logs {
		for start := time.Now(); !strings.Contains(runs[i].read(log), word); time.Sleep(100 * time.Millisecond) {
			if time.Since(start) > time.Minute {
				t.Fatalf("%s does not say for whom it waits: %s", names[i], runs[i].read(log))
			}
		}
	}
	unlock()
	for i, cmd := range cmds {
		if err := cmd.Wait(); err != nil {
			t.Errorf("%s: %v: %s", names[i], err, runs[i].read(logs[i]))
		}
	}
	for i, c := range runs {
		c.settled()
		for n := range each {
			url := fmt.Sprintf("http://%s:%d/", acctest.ServiceNodes(t, 1)[0], 22000+1000*i+n)
			if got, err := acctest.Try(t.Context(), "hypervisor", "curl", "-sS", "--max-time", "3", url); got != names[i] {
				t.Errorf("%s answers %q, %v", url, got, err)
			}
		}
	}
	haproxySubject.clean(t, "two runs")
}
