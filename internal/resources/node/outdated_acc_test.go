package node_test

import (
	"fmt"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// TestAccNodeIsKilledBeforeItsRestart kills the provider while it waits for a guest to stop whose configuration it has replaced: the next plan says that
// what runs is outdated, and its apply restarts it.
func TestAccNodeIsKilledBeforeItsRestart(t *testing.T) {
	acctest.BothCLIs(t)
	pool, _, _ := stage(t, "nodeoutdated")
	s := acctest.NewState(t)
	s.DestroyAtEnd()
	made := func(more string) string {
		return acctest.Provider() + fmt.Sprintf(`
resource "virtcluster_node" "n" {
  name       = "acc"
  type       = "qemu"
  memory_mib = 32
  root_disk  = { size_gib = 1, pool = %q }
%s}
`, pool, more)
	}
	const patient, soon = "  shutdown_timeout = \"10m\"\n", "  shutdown_timeout = \"0s\"\n"
	s.Apply(made(soon))
	first := virsh(t, "domid", "acc")

	revision := func(of ...string) string {
		t.Helper()
		return regexp.MustCompile(`revision/1["'] id=["']([^"']*)|$`).FindStringSubmatch(virsh(t, append([]string{"dumpxml", "acc"}, of...)...))[1]
	}
	killed := func(more string) {
		t.Helper()
		s.Write(made(more + patient))
		c := s.Start("apply", "-auto-approve")
		t.Cleanup(func() {
			if t.Failed() {
				t.Logf("%s\n%s", c.Out.String(), virsh(t, "dumpxml", "acc", "--inactive"))
			}
		})
		acctest.Eventually(t, "the configuration has been replaced", func() bool {
			return revision("--inactive") != revision()
		})
		pid := acctest.ProviderOf(t, c.Process.Pid)
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		_ = c.Wait()
		if now := virsh(t, "domid", "acc"); now != first {
			t.Fatalf("it was restarted: %s was %s", now, first)
		}
	}
	killed("  allow_restart = true\n  graphics = \"vnc\"\n")
	s.Write(made(soon + "  allow_restart = false\n  graphics = \"vnc\"\n"))
	s.Refused([]string{"This change needs a restart", "what runs is as it was before a change that ended before the restart"}, "plan")
	s.Write(made(soon + "  allow_restart = true\n  graphics = \"vnc\"\n"))
	if out := s.Run("plan"); !strings.Contains(out, `"outdated" -> (known after apply)`) || !strings.Contains(out, "The node will be restarted") {
		t.Errorf("the plan says\n%s", out)
	}
	s.Run("apply", "-auto-approve")
	s.Settled()
	if runs := virsh(t, "dumpxml", "acc"); virsh(t, "domid", "acc") == first || !strings.Contains(runs, "<graphics type='vnc") || revision() != revision("--inactive") {
		t.Errorf("what runs is\n%s", runs)
	}

	// A person suspends it, or saves and restores it: it is as it was still, and not restarted by who does not allow it.
	first = virsh(t, "domid", "acc")
	killed("  allow_restart = true\n  graphics = \"none\"\n")
	s.Write(made(soon + "  graphics = \"none\"\n"))
	virsh(t, "suspend", "acc")
	s.Refused([]string{"allow_restart = true"}, "apply", "-auto-approve", "-refresh=false")
	virsh(t, "managedsave", "acc", "--running")
	s.Write(made(soon + "  allow_restart = true\n  graphics = \"none\"\n"))
	s.Refused([]string{"its memory saved (virsh managedsave)"}, "apply", "-auto-approve", "-refresh=false")
	virsh(t, "start", "acc")
	s.Write(made(soon + "  graphics = \"none\"\n"))
	s.Refused([]string{"This change needs a restart"}, "plan")
	s.Write(made(soon + "  allow_restart = true\n  graphics = \"none\"\n"))
	s.Run("apply", "-auto-approve")
	s.Settled()
	if runs := virsh(t, "dumpxml", "acc"); strings.Contains(runs, "<graphics type='vnc") {
		t.Errorf("what runs is\n%s", runs)
	}

	// A person restarts it.
	first = virsh(t, "domid", "acc")
	killed("  allow_restart = true\n  graphics = \"vnc\"\n")
	virsh(t, "destroy", "acc")
	virsh(t, "start", "acc")
	s.Write(made(soon + "  allow_restart = true\n  graphics = \"vnc\"\n"))
	first = virsh(t, "domid", "acc")
	s.Run("apply", "-auto-approve")
	s.Settled()
	if now := virsh(t, "domid", "acc"); now != first {
		t.Errorf("it was restarted once more: %s was %s", now, first)
	}
}
