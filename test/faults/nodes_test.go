package faults

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// cluster is a configuration of so many nodes, each with everything that an interrupted apply could leave behind.
type cluster struct {
	t              *testing.T
	dir, pool, cli string
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	acctest.InSandbox(t)
	c := &cluster{t: t, dir: t.TempDir(), pool: "/var/lib/libvirt/faults"}
	for _, name := range []string{os.Getenv("TF_ACC_TERRAFORM_PATH"), "terraform", "tofu"} {
		if path, err := exec.LookPath(name); err == nil && c.cli == "" {
			c.cli = path
		}
	}
	image := filepath.Join(c.dir, "empty.qcow2")
	if out, err := exec.Command("qemu-img", "create", "-q", "-f", "qcow2", image, "64M").CombinedOutput(); err != nil {
		t.Fatalf("qemu-img: %s", out)
	}
	config := strings.NewReplacer("POOL", c.pool, "IMAGE", image).Replace(`
terraform {
  required_providers {
    virtcluster = { source = "virtcluster/virtcluster" }
  }
}
variable "nodes" {}
resource "virtcluster_storage_pool" "p" {
  name = "faults"
  path = "POOL"
}
resource "virtcluster_image" "i" {
  name   = "base.qcow2"
  pool   = virtcluster_storage_pool.p.name
  source = "IMAGE"
}
resource "virtcluster_network" "n" {
  name      = "faults"
  cidr      = "10.74.0.0/24"
  ipv6_cidr = "fd00:74::/64"
  dhcp      = { ranges = [{ start = "10.74.0.210", end = "10.74.0.240" }, { start = "fd00:74::100", end = "fd00:74::1ff" }] }
}
resource "virtcluster_node" "n" {
  count              = var.nodes
  name               = "faults${count.index}"
  type               = "qemu"
  memory_mib         = 32
  root_disk          = { image = virtcluster_image.i.id, size_gib = 1 }
  disks              = { data = { size_gib = 1 } }
  network_interfaces = [{ network = virtcluster_network.n.name, ip = "10.74.0.${10 + count.index}", ipv6 = "fd00:74::${10 + count.index}", port_security = true }]
  cloud_init         = { user_data = "#cloud-config\nssh_pwauth: false\n" }
  shutdown_timeout   = "0s"
}
`)
	if err := os.WriteFile(filepath.Join(c.dir, "main.tf"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	c.mustRun("apply", "-auto-approve", "-var", "nodes=0")
	t.Cleanup(func() { c.mustRun("destroy", "-auto-approve", "-var", "nodes=0") })
	return c
}

func (c *cluster) command(args ...string) *exec.Cmd {
	cmd := exec.Command(c.cli, append(args, "-no-color")...)
	cmd.Dir = c.dir
	// A process group of its own, so that its provider can be told from others.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd
}

func (c *cluster) mustRun(args ...string) {
	c.t.Helper()
	if out, err := c.command(args...).CombinedOutput(); err != nil {
		c.t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// there counts what the nodes have on the hypervisor: domains, volumes, reservations, filters.
func (c *cluster) there() string {
	c.t.Helper()
	count := func(what string, argv ...string) string {
		out, err := exec.Command("virsh", argv...).CombinedOutput()
		if err != nil {
			c.t.Fatalf("virsh %v: %s", argv, out)
		}
		lines := slices.DeleteFunc(strings.Split(string(out), "\n"), func(line string) bool {
			return strings.Contains(line, ".virtcluster-") // the mark of whose an image is
		})
		return strconv.Itoa(strings.Count(strings.Join(lines, "\n"), what)) + " "
	}
	return count("faults", "list", "--all", "--name") + count(c.pool+"/", "vol-list", "faults") + count("<host ", "net-dumpxml", "faults") + count("virtcluster-faults", "nwfilter-list")
}

// interrupt applies five nodes and calls `fault` as soon as they have so many files on the hypervisor.
func (c *cluster) interrupt(files int, fault func(group int)) string {
	c.t.Helper()
	return c.during(5, func() bool { return c.files() >= files }, fault)
}

// files counts what the nodes have on the hypervisor: five each, when all is done.
func (c *cluster) files() int {
	all := 0
	for _, pattern := range []string{c.pool + "/faults*", "/etc/libvirt/qemu/faults*.xml", "/run/libvirt/qemu/faults*.pid"} {
		found, _ := filepath.Glob(pattern)
		all += len(found)
	}
	return all
}

// during applies so many nodes, calls `fault` as soon as it is time, and returns what the apply said.
func (c *cluster) during(nodes int, due func() bool, fault func(group int)) string {
	c.t.Helper()
	cmd := c.command("apply", "-auto-approve", "-var", "nodes="+strconv.Itoa(nodes))
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for !due() {
		select {
		case err := <-ended:
			c.t.Fatalf("the apply ended before it was time: %v\n%s", err, out.String())
		default:
			time.Sleep(time.Millisecond)
		}
	}
	fault(cmd.Process.Pid)
	<-ended
	return out.String()
}

// converges applies once more, and looks for what is missing or left.
func (c *cluster) converges(after string) {
	c.t.Helper()
	if out, err := c.command("apply", "-auto-approve", "-var", "nodes=5").CombinedOutput(); err != nil {
		c.t.Errorf("%s: the next apply: %v\n%s", after, err, out)
	}
	if out, err := c.command("plan", "-detailed-exitcode", "-var", "nodes=5").CombinedOutput(); err != nil {
		c.t.Errorf("%s: the plan after it: %v\n%s", after, err, out)
	}
	// The image is a volume too.
	if got, want := c.there(), "5 16 10 5 "; got != want {
		c.t.Errorf("%s: domains, volumes, reservations and filters are %s, want %s", after, got, want)
	}
	c.mustRun("apply", "-auto-approve", "-var", "nodes=0")
	if got, want := c.there(), "0 1 0 0 "; got != want {
		c.t.Errorf("%s: destroyed, domains, volumes, reservations and filters are %s, want %s", after, got, want)
	}
}

// killProvider ends the provider of a command in its process group, as nothing but SIGKILL does.
func killProvider(t *testing.T) func(group int) {
	return func(group int) {
		t.Helper()
		out, err := exec.Command("pgrep", "-g", strconv.Itoa(group), "terraform-provi").Output()
		for _, pid := range strings.Fields(string(out)) {
			n, _ := strconv.Atoi(pid)
			err = syscall.Kill(n, syscall.SIGKILL)
		}
		if err != nil {
			t.Fatalf("cannot kill the provider: %v", err)
		}
	}
}

func TestAccProviderKilledWhileItMakesNodes(t *testing.T) {
	c := newCluster(t)
	for _, files := range []int{1, 6, 12, 18, 24} {
		c.interrupt(files, killProvider(t))
		c.converges(fmt.Sprintf("the provider was killed with %d files", files))
	}
}

func TestAccProviderKilledWhileItDestroysNodes(t *testing.T) {
	c := newCluster(t)
	for _, left := range []int{20, 12, 4} {
		c.mustRun("apply", "-auto-approve", "-var", "nodes=5")
		c.during(0, func() bool { return c.files() <= left }, killProvider(t))
		c.converges(fmt.Sprintf("the provider was killed with %d files left", left))
	}
	// The next one may go on destroying, too.
	c.mustRun("apply", "-auto-approve", "-var", "nodes=5")
	c.during(0, func() bool { return c.files() <= 12 }, killProvider(t))
	c.mustRun("apply", "-auto-approve", "-var", "nodes=0")
	if got, want := c.there(), "0 1 0 0 "; got != want {
		t.Errorf("destroyed after a destroy that was killed, domains, volumes, reservations and filters are %s, want %s", got, want)
	}
}

func TestAccLibvirtdKilledWhileNodesAreMade(t *testing.T) {
	c := newCluster(t)
	for _, files := range []int{4, 16} {
		said := c.interrupt(files, func(int) { restartLibvirtd(t) })
		if strings.Contains(said, "Error: ") && !strings.Contains(strings.Join(strings.Fields(said), " "), "the connection to hypervisor qemu:///system broke before the answer came") {
			t.Errorf("libvirtd was killed with %d files, and the error does not say so:\n%s", files, said)
		}
		c.converges(fmt.Sprintf("libvirtd was killed with %d files", files))
	}
}
