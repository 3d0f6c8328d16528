package nodepower_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// power is an action on a node.
func power(name, node, action, more string) string {
	return fmt.Sprintf("action \"virtcluster_node_power\" %q {\n  config {\n    node   = %s\n    action = %q\n%s\n  }\n}\n", name, node, action, more)
}

// stage defines a pool with the tiny image in it, until the test ends.
func stage(t *testing.T, name string) (image string) {
	t.Helper()
	acctest.InSandbox(t)
	dir := "/var/lib/libvirt/" + name
	acctest.Virsh(t, "pool-define-as", name, "dir", "--target", dir)
	acctest.Virsh(t, "pool-build", name)
	acctest.Run(t, "cp", os.Getenv("SANDBOX_TINY_IMAGE"), dir+"/tiny.qcow2")
	acctest.Virsh(t, "pool-start", name)
	t.Cleanup(func() {
		for _, argv := range [][]string{{"vol-delete", "tiny.qcow2", name}, {"pool-destroy", name}, {"pool-undefine", name}} {
			acctest.Virsh(t, argv...)
		}
	})
	return dir + "/tiny.qcow2"
}

func TestAccNodePower(t *testing.T) {
	image := stage(t, "power")
	node := func(name string) string {
		return fmt.Sprintf(`
resource "virtcluster_node" %[1]q {
  name       = %[1]q
  type       = "qemu"
  power      = "external"
  memory_mib = 128
  root_disk  = { image = %[2]q, size_gib = 1 }
}
`, name, image)
	}
	const id = "virtcluster_node.accpower.id"
	config := acctest.Provider() + node("accpower") +
		power("on", id, "on", "") + power("off", id, "off", "") + power("cut", id, "off", "    shutdown_timeout = \"0s\"") +
		power("cycle", "\"accpower\"", "cycle", "    shutdown_timeout = \"0s\"") + power("reset", id, "reset", "")
	trigger := func(input, events, action string) string {
		return fmt.Sprintf(`
resource "terraform_data" "it" {
  input      = %q
  depends_on = [virtcluster_node.accpower]
  lifecycle {
    action_trigger {
      events  = [%s]
      actions = [action.virtcluster_node_power.%s]
    }
  }
}
`, input, events, action)
	}
	s := acctest.NewStateWithActions(t)
	s.DestroyAtEnd()
	// The id of the node is not known before it is made.
	s.Write(config + trigger("a", "after_create", "reset"))
	if out := s.Run("apply", "-auto-approve"); !strings.Contains(out, "node accpower: reset") {
		t.Errorf("the node was not reset when what comes behind it was made:\n%s", out)
	}
	began := acctest.Virsh(t, "domid", "accpower")

	step := func(name, action, wantState string, said ...string) {
		t.Run(name, func(t *testing.T) {
			s := s.For(t)
			out := s.Run("apply", "-auto-approve", "-invoke=action.virtcluster_node_power."+action)
			for _, want := range said {
				if !strings.Contains(out, want) {
					t.Errorf("it does not say %q:\n%s", want, out)
				}
			}
			if state := acctest.Virsh(t, "domstate", "accpower"); state != wantState {
				t.Errorf("it is %s", state)
			}
			s.Settled()
		})
	}
	refused := func(name, action string, said ...string) {
		t.Run(name, func(t *testing.T) {
			s.For(t).Refused(said, "apply", "-auto-approve", "-invoke=action.virtcluster_node_power."+action)
		})
	}
	step("what runs is on", "on", "running", "node accpower: runs already")
	step("reset is warm", "reset", "running", "node accpower: reset")
	if now := acctest.Virsh(t, "domid", "accpower"); now != began {
		t.Errorf("a reset made machine %s of machine %s", now, began)
	}
	step("a cycle is cold, by the node's name", "cycle", "running", "node accpower: its power is cut", "node accpower: started")
	if now := acctest.Virsh(t, "domid", "accpower"); now == began {
		t.Error("a cycle left the machine as it was")
	}
	acctest.Virsh(t, "suspend", "accpower")
	step("what is paused goes on", "on", "running", "node accpower: was paused, and runs again")
	acctest.On(t, "hypervisor", "sleep", "20") // the guest does not listen before it is up
	step("the guest is asked", "off", "shut off", "its guest is asked to shut down, and has 1m0s for it", "node accpower: has shut down")
	step("what is off is off", "off", "shut off", "node accpower: is off already")
	refused("what is off is not reset", "reset", "it is off: switch it on first")
	refused("what is off is not cycled", "cycle", "it is off: switch it on first")
	step("what is off is started", "on", "running", "node accpower: started")
	t.Run("a guest that does not listen", func(t *testing.T) {
		acctest.Virsh(t, "suspend", "accpower")
		s := s.For(t)
		s.Write(strings.Replace(config, "action = \"off\"\n", "action = \"off\"\n    shutdown_timeout = \"7s\"\n", 1) + trigger("a", "after_create", "reset"))
		out := s.Run("apply", "-auto-approve", "-invoke=action.virtcluster_node_power.off")
		// Progress is said every five seconds, and a busy machine is a second late.
		for _, want := range []string{"and has 7s for it", "shuts down since [5-7]s", "did not shut down in 7s: its power is cut"} {
			if !regexp.MustCompile(want).MatchString(out) {
				t.Errorf("it does not say %q:\n%s", want, out)
			}
		}
		if state := acctest.Virsh(t, "domstate", "accpower"); state != "shut off" {
			t.Errorf("it is %s", state)
		}
	})
	t.Run("a change of something else switches it", func(t *testing.T) {
		s := s.For(t)
		s.Write(config + trigger("b", "after_update", "on"))
		s.Run("apply", "-auto-approve")
		if state := acctest.Virsh(t, "domstate", "accpower"); state != "running" {
			t.Errorf("it is %s", state)
		}
		s.Settled()
	})

	// Others' machines stay as they are.
	other := acctest.NewStateWithActions(t)
	other.DestroyAtEnd()
	other.Apply(acctest.Provider() + node("accothers"))
	persons := filepath.Join(t.TempDir(), "persons.xml")
	if err := os.WriteFile(persons, []byte("<domain type='qemu'><name>accpersons</name><memory unit='MiB'>64</memory><os><type arch='x86_64'>hvm</type></os></domain>"), 0o600); err != nil {
		t.Fatal(err)
	}
	acctest.Virsh(t, "define", persons)
	acctest.Virsh(t, "start", "accpersons")
	t.Cleanup(func() {
		acctest.Virsh(t, "destroy", "accpersons")
		acctest.Virsh(t, "undefine", "accpersons")
	})
	for name, c := range map[string]struct {
		node string
		said []string
	}{
		"another state's":    {acctest.Virsh(t, "domuuid", "accothers"), []string{`domain "accothers"`, "of another state", "only a node of this state is switched"}},
		"a person's":         {"accpersons", []string{`domain "accpersons"`, "which this provider did not write"}},
		"one that is nobody": {"accnobody", []string{`read domain "accnobody"`}},
	} {
		t.Run(name, func(t *testing.T) {
			s := s.For(t)
			s.Write(config + trigger("b", "after_update", "on") + power("others", fmt.Sprintf("%q", c.node), "off", "    shutdown_timeout = \"0s\""))
			s.Refused(append(c.said, "Cannot switch node"), "apply", "-auto-approve", "-invoke=action.virtcluster_node_power.others")
			if c.node == "accnobody" {
				return
			}
			if _, err := s.Try("plan", "-invoke=action.virtcluster_node_power.others"); err == nil {
				t.Error("the plan does not refuse it")
			}
			if state := acctest.Virsh(t, "domstate", c.node); state != "running" {
				t.Errorf("it is %s", state)
			}
		})
	}
	t.Run("nothing that can be done", func(t *testing.T) {
		s := s.For(t)
		s.Write(config + power("blink", id, "blink", ""))
		s.Refused([]string{`write one of "on", "off", "cycle", "reset", not "blink"`}, "validate")
	})
	s.Write(config)
}
