package node_test

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

const address = "virtcluster_node.n"

// What tests of nodes have in common with tests of other packages.
var (
	virsh   = acctest.Virsh
	stage   = acctest.StageNodes
	cluster = acctest.ClusterOfNodes
)

// config is a small node with more attributes.
func config(image, network, more string) string {
	return acctest.Provider() + fmt.Sprintf(`
resource "virtcluster_node" "n" {
  name             = "acc"
  type             = "qemu"
  memory_mib       = 128
  shutdown_timeout = "0s"
  root_disk        = { image = %q, size_gib = 1 }
%s
}
`, image, strings.ReplaceAll(more, "NET", network))
}

const oneInterface = "  network_interfaces = [{ network = \"NET\", ip = \"10.77.0.1\" }]\n"

// says checks what a virsh command prints about the node.
func says(t *testing.T, command string, want ...string) resource.TestCheckFunc {
	return func(*terraform.State) error {
		argv := strings.Fields(command)
		got := virsh(t, argv...)
		for _, w := range want {
			if !regexp.MustCompile(w).MatchString(got) {
				t.Errorf("virsh %s says otherwise than %s:\n%s", command, w, got)
			}
		}
		return nil
	}
}

// prints waits until a virsh command prints something.
func prints(t *testing.T, want string, argv ...string) {
	t.Helper()
	got := ""
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		if got = virsh(t, argv...); regexp.MustCompile(want).MatchString(got) {
			return
		}
	}
	t.Fatalf("virsh %s never said %s:\n%s", strings.Join(argv, " "), want, got)
}

// updates expects a plan that changes the node in place.
func updates() resource.ConfigPlanChecks {
	return resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectResourceAction(address, plancheck.ResourceActionUpdate)}}
}

// wrapped finds a message although the CLI breaks its lines.
func wrapped(text string) *regexp.Regexp {
	return regexp.MustCompile(strings.ReplaceAll(regexp.QuoteMeta(text), " ", `[\s│]+`))
}

// answers waits until the guest says something on its port 8080.
func answers(t *testing.T, path, want string) resource.TestCheckFunc {
	return func(*terraform.State) error {
		var out []byte
		for deadline := time.Now().Add(3 * time.Minute); time.Now().Before(deadline); time.Sleep(200 * time.Millisecond) {
			if out, _ = exec.Command("curl", "-s", "--max-time", "5", "http://10.77.0.1:8080"+path).Output(); strings.Contains(string(out), want) {
				return nil
			}
		}
		t.Errorf("the guest says nothing of %q at %s:\n%s", want, path, out)
		return nil
	}
}

// writeFile writes a text to a file of the test's own, and returns its path.
func writeFile(t *testing.T, text string) string {
	t.Helper()
	file := t.TempDir() + "/text"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
