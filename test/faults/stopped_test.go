package faults

import (
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// down is how an apply says that libvirtd went away: while it waited for an answer, or before it could ask.
func down(said string) bool {
	said = strings.Join(strings.FieldsFunc(said, func(r rune) bool { return r == '│' || r == ' ' || r == '\n' }), " ")
	return strings.Contains(said, "Error: ") && (strings.Contains(said, "the connection to hypervisor qemu:///system broke before the answer came") ||
		strings.Contains(said, "hypervisor qemu:///system cannot be reached at /var/run/libvirt/libvirt-sock"))
}

// state lists what Terraform knows.
func (c *cluster) state() []string {
	c.t.Helper()
	cmd := c.command("state", "list")
	cmd.Args = cmd.Args[:3] // which knows no -no-color
	out, err := cmd.CombinedOutput()
	if err != nil {
		c.t.Fatalf("state list: %v\n%s", err, out)
	}
	return strings.Fields(string(out))
}

// stopped stops libvirtd in the middle of an apply of so many nodes, and looks that nothing falls out of state that is there.
func (c *cluster) stopped(nodes int, due func() bool) {
	c.t.Helper()
	was := c.state()
	var at time.Time
	said := c.during(nodes, due, func(int) {
		at = time.Now()
		stopLibvirtd(c.t, syscall.SIGTERM)
	})
	defer startLibvirtd(c.t)
	if !down(said) {
		c.t.Errorf("libvirtd was stopped while %d nodes were applied, and no error says so:\n%s", nodes, said)
	}
	// A libvirtd that restarts is waited for; one that does not come back must not keep the apply for much longer.
	if took := time.Since(at); took > 90*time.Second {
		c.t.Errorf("the apply went on for %s without a hypervisor", took)
	}
	kept := c.state()
	for _, address := range was {
		gone := strings.Contains(said, address+": Destruction complete")
		if listed := slices.Contains(kept, address); listed == gone {
			c.t.Errorf("%s in state: %t, while its destruction was complete: %t\n%s", address, listed, gone, said)
		}
	}
	for _, args := range [][]string{{"plan"}, {"apply", "-refresh-only", "-auto-approve"}, {"destroy", "-auto-approve"}} {
		out, err := c.command(append(args, "-var", "nodes=5")...).CombinedOutput()
		if err == nil || !down(string(out)) {
			c.t.Errorf("%s without libvirtd: %v\n%s", args[0], err, out)
		}
	}
	if now := c.state(); strings.Join(now, " ") != strings.Join(kept, " ") {
		c.t.Errorf("without libvirtd state went from %v to %v", kept, now)
	}
}

func TestAccLibvirtdStoppedInMidApplyLosesNothing(t *testing.T) {
	c := newCluster(t)
	c.mustRun("apply", "-auto-approve", "-var", "nodes=2")
	c.stopped(5, func() bool { return c.files() >= 16 })
	c.mustRun("apply", "-auto-approve", "-var", "nodes=5")
	c.stopped(0, func() bool { return c.files() <= 18 })
	c.converges("libvirtd was stopped")
}
