package bmc_test

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stmcginnis/gofish/redfish"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// TestAccBMCPlugsAStickIntoANode plugs one into a node of the provider's, which has no USB until then, and the node's resource leaves it alone.
func TestAccBMCPlugsAStickIntoANode(t *testing.T) {
	s := newStage(t)
	s.pool()
	content := bytes.Repeat([]byte("config-2"), 1<<16)
	if err := os.WriteFile(filepath.Join(s.dir, "stick.img"), content, 0o600); err != nil {
		t.Fatal(err)
	}
	url := s.serve() + "/stick.img"
	config := func(more string) string {
		return s.config("nodes = { (virtcluster_node.n.name) = { port = 8001, ipmi_port = 0 } }") + fmt.Sprintf(`
resource "virtcluster_node" "n" {
  name             = "w1"
  type             = "qemu"
  memory_mib       = 64
  shutdown_timeout = "0s"
  power            = "external"
  root_disk        = { size_gib = 1, pool = "default" }
%s
}
`, more)
	}
	state := acctest.NewState(t)
	state.Apply(config(""))
	state.DestroyAtEnd()
	state.Settled()
	volumes := func() []string {
		return regexp.MustCompile(`/\S+/bmc-w1-\S+\.img`).FindAllString(acctest.Virsh(t, "vol-list", "default"), -1)
	}
	// is has the stick in what runs, where something does, in the configuration, in the pool and in what is read; or nowhere.
	is := func(when string, plugged bool) {
		t.Helper()
		texts := map[string]string{"the configuration": acctest.Virsh(t, "dumpxml", "--inactive", "w1")}
		if s.state("w1") == "running" {
			texts["what runs"], texts["QEMU"] = acctest.Virsh(t, "dumpxml", "w1"), acctest.Virsh(t, "qemu-monitor-command", "w1", "--hmp", "info usb")
		}
		for what, text := range texts {
			if strings.Contains(text, "ua-stick") != plugged {
				t.Errorf("%s: %s has the stick: %v\n%s", when, what, !plugged, text)
			}
		}
		kept := volumes()
		if (len(kept) == 1) != plugged || len(kept) > 1 {
			t.Errorf("%s: the pool has %v", when, kept)
		}
		if plugged && len(kept) == 1 {
			if got, err := os.ReadFile(kept[0]); err != nil || !bytes.Equal(got, content) {
				t.Errorf("%s: the volume has %d bytes, not those of the image: %v", when, len(got), err)
			}
		}
		image := any(nil)
		if plugged {
			image = url
		}
		for _, owner := range []string{system, manager} {
			at := owner + "/VirtualMedia/Usb"
			if got, inserted := s.property(8001, at, "Image"), s.property(8001, at, "Inserted"); got != image || inserted != plugged {
				t.Errorf("%s: %s has %v, %v", when, at, got, inserted)
			}
		}
		state.Settled()
	}
	act := func(action, body string) (int, string) {
		return s.send("POST", 8001, system+"/VirtualMedia/Usb/Actions/VirtualMedia."+action, body)
	}
	done := func(action, body string) {
		t.Helper()
		if status, text := act(action, body); status != http.StatusNoContent {
			t.Fatalf("%s: %d %s", action, status, text)
		}
	}
	insert := fmt.Sprintf(`{"Image":%q}`, url)
	power := func(kind redfish.ResetType) {
		t.Helper()
		if err := s.connect(8001).Reset(kind); err != nil {
			t.Fatal(err)
		}
	}
	if status, text := act("InsertMedia", insert); status != http.StatusConflict || !strings.Contains(text, "has no USB") {
		t.Errorf("a machine that runs without USB: %d %s", status, text)
	}
	is("where it runs without USB", false)
	power(redfish.ForceOffResetType)
	refused := func(name, body, want string) {
		t.Run(name, func(t *testing.T) {
			if status, text := act("InsertMedia", body); status != http.StatusBadRequest || !strings.Contains(text, want) {
				t.Errorf("%d %s", status, text)
			}
		})
	}
	refused("a server that does not answer", `{"Image":"http://10.0.100.254:1/x.img"}`, "cannot be fetched")
	refused("an image that is not there", strings.Replace(insert, "stick", "none", 1), "404")
	is("after what cannot be inserted", false)
	done("InsertMedia", insert)
	is("inserted while it is off", true)
	if got := s.state("w1"); got != "shut off" {
		t.Errorf("inserting has the machine %s", got)
	}
	power(redfish.OnResetType)
	is("started with it", true)
	done("EjectMedia", "")
	is("ejected while it runs", false)
	done("InsertMedia", insert)
	is("inserted while it runs", true)
	acctest.On(t, s.machine, "systemctl", "restart", "virtcluster-bmc-rack")
	acctest.Eventually(t, "the controller serves again", func() bool { status, _ := s.get(8001, system); return status == http.StatusOK })
	is("after a restart of the controller", true)
	// Another change of the node leaves it where it is, while the node runs and by a restart, and so does an import.
	state.Apply(config(`  labels = { a = "b" }`))
	is("after a change of the node", true)
	restarting := config("  labels = { a = \"b\" }\n  rng = false\n  allow_restart = true")
	state.Apply(restarting)
	is("after a change by a restart", true)
	state.Run("state", "rm", "virtcluster_node.n")
	state.Run("import", "virtcluster_node.n", "w1")
	if disks := state.Run("state", "show", "virtcluster_node.n"); strings.Contains(disks, "bmc-w1-") {
		t.Errorf("the import took the stick:\n%s", disks)
	}
	is("after an import", true)
	done("InsertMedia", insert)
	is("another one in its place", true)
	done("EjectMedia", "")
	is("ejected at last", false)
	// What is plugged in goes with the controllers.
	done("InsertMedia", insert)
	state.Run("destroy", "-target", "virtcluster_bmc.it", "-auto-approve")
	if text := acctest.Virsh(t, "dumpxml", "w1"); strings.Contains(text, "ua-stick") || len(volumes()) > 0 {
		t.Errorf("the controllers left %v, or the stick in\n%s", volumes(), text)
	}
}
