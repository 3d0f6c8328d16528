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

var virsh = acctest.Virsh

// stage makes a pool with the tiny image and a network, and checks at the end that the nodes left nothing there.
func stage(t *testing.T, name string) (pool, network, image string) {
	t.Helper()
	acctest.InSandbox(t)
	dir := "/var/lib/libvirt/" + name
	virsh(t, "pool-define-as", name, "dir", "--target", dir)
	virsh(t, "pool-build", name)
	image = dir + "/tiny.qcow2"
	if out, err := exec.Command("cp", os.Getenv("SANDBOX_TINY_IMAGE"), image).CombinedOutput(); err != nil {
		t.Fatalf("copy the image: %s", out)
	}
	virsh(t, "pool-start", name)
	xml := fmt.Sprintf(`<network><name>%[1]s</name><forward mode='nat'/><bridge name='%[1]s'/><ip address='10.77.0.254' prefix='24'>
		<dhcp><range start='10.77.0.210' end='10.77.0.240'/></dhcp></ip></network>`, name)
	file := t.TempDir() + "/network.xml"
	if err := os.WriteFile(file, []byte(xml), 0o644); err != nil {
		t.Fatal(err)
	}
	virsh(t, "net-define", file)
	virsh(t, "net-start", name)
	t.Cleanup(func() {
		if got := strings.Fields(virsh(t, "vol-list", name)); len(got) != 5 { // two headings, a line, the image
			t.Errorf("volumes are left: %v", got)
		}
		if got := virsh(t, "net-dumpxml", name); strings.Contains(got, "<host ") {
			t.Errorf("reservations are left:\n%s", got)
		}
		if got := virsh(t, "nwfilter-list"); strings.Contains(got, "virtcluster-acc-") {
			t.Errorf("filters are left:\n%s", got)
		}
		virsh(t, "net-destroy", name)
		virsh(t, "net-undefine", name)
		virsh(t, "vol-delete", "tiny.qcow2", name)
		virsh(t, "pool-destroy", name)
		virsh(t, "pool-undefine", name)
	})
	return name, name, image
}

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
