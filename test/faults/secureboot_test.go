package faults

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// said waits until a node's console has a text, and then forgets what it has.
func said(t *testing.T, node, text string) resource.TestCheckFunc {
	return func(*terraform.State) error {
		log := "/var/log/libvirt/" + node + ".log"
		var content []byte
		for deadline := time.Now().Add(5 * time.Minute); time.Now().Before(deadline); time.Sleep(200 * time.Millisecond) {
			if content, _ = os.ReadFile(log); bytes.Contains(content, []byte(text)) {
				return os.Truncate(log, 0)
			}
		}
		t.Errorf("node %s does not say %q:\n%s", node, text, content)
		return nil
	}
}

// What the guest sees is the proof of Secure Boot: that the files on the hypervisor are the right ones is not.
func TestAccNodeBootsWhatIsSignedOnly(t *testing.T) {
	acctest.InSandbox(t)
	disk, err := exec.Command("./signed-disk").Output()
	if err != nil {
		t.Fatalf("the packages of the signed disk are downloaded outside of the sandbox, by test/faults/signed-disk: %v", err)
	}
	config := func(firmware string) string {
		text := acctest.Provider() + `
resource "virtcluster_storage_pool" "p" {
  name = "secureboot"
  path = "/var/lib/libvirt/secureboot"
}
`
		for name, source := range map[string]string{"signed": strings.TrimSpace(string(disk)), "unsigned": os.Getenv("SANDBOX_TINY_IMAGE")} {
			text += fmt.Sprintf(`
resource "virtcluster_image" %[1]q {
  name   = "%[1]s.qcow2"
  pool   = virtcluster_storage_pool.p.name
  source = %[2]q
}
resource "virtcluster_node" %[1]q {
  name             = %[1]q
  type             = "qemu"
  memory_mib       = 256
  firmware         = %[3]q
  allow_restart    = true
  shutdown_timeout = "0s"
  root_disk        = { image = virtcluster_image.%[1]s.id }
  console          = { log_file = "/var/log/libvirt/%[1]s.log" }
}
`, name, source, firmware)
		}
		return text
	}
	change := resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
		plancheck.ExpectResourceAction("virtcluster_node.signed", plancheck.ResourceActionUpdate),
		plancheck.ExpectResourceAction("virtcluster_node.unsigned", plancheck.ResourceActionUpdate),
	}}
	const off, on = "SecureBoot 0, SetupMode 1, lockdown [none]", "SecureBoot 1, SetupMode 0, lockdown none [integrity]"
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			{Config: config("uefi"), Check: resource.ComposeTestCheckFunc(said(t, "signed", off), said(t, "unsigned", "tiny: up"))},
			{Config: config("uefi-secure"), ConfigPlanChecks: change, Check: resource.ComposeTestCheckFunc(said(t, "signed", on), said(t, "unsigned", "Access Denied"))},
			{Config: config("uefi"), ConfigPlanChecks: change, Check: resource.ComposeTestCheckFunc(said(t, "signed", off), said(t, "unsigned", "tiny: up"))},
		},
	})
}
