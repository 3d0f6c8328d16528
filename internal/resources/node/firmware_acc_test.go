package node_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// variables is where libvirt keeps the node's UEFI variables.
const variables = "/var/lib/libvirt/qemu/nvram/accfw_VARS.fd"

// madeOf checks that the variables are those of a template that nobody has started with yet.
func madeOf(t *testing.T, template string) resource.TestCheckFunc {
	return func(*terraform.State) error {
		if out, err := exec.Command("cmp", variables, template).CombinedOutput(); err != nil {
			t.Errorf("the variables are not those of %s: %s", template, out)
		}
		return nil
	}
}

func TestAccNodeHasTheVariablesOfItsFirmware(t *testing.T) {
	acctest.InSandbox(t)
	config := func(firmware, more string) string {
		return acctest.Provider() + `
resource "virtcluster_node" "n" {
  name             = "accfw"
  type             = "qemu"
  memory_mib       = 64
  shutdown_timeout = "0s"
  allow_restart    = true
  firmware         = "` + firmware + `"
` + more + `}
`
	}
	const plain, enrolled = "/usr/share/OVMF/OVMF_VARS_4M.fd", "/usr/share/OVMF/OVMF_VARS_4M.ms.fd"
	const stopped = "  running = false\n"
	if strings.Contains(virsh(t, "version", "--daemon"), "daemon: 8.0.") {
		resource.Test(t, resource.TestCase{
			ProtoV6ProviderFactories: acctest.Providers,
			Steps: []resource.TestStep{
				{Config: config("uefi", "")},
				{Config: config("uefi-secure", ""), PlanOnly: true, ExpectError: wrapped("libvirt before 8.1 cannot make a UEFI variable store anew")},
				{Config: config("bios", stopped), ConfigPlanChecks: updates()},
				// The variables of the first one are there still, which only the apply sees.
				{Config: config("uefi-secure", ""), ExpectError: wrapped("libvirt before 8.1 cannot make a UEFI variable store anew")},
				{Config: config("bios", stopped), PlanOnly: true},
			},
		})
		return
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		CheckDestroy: func(*terraform.State) error {
			if _, err := os.Stat(variables); !os.IsNotExist(err) {
				t.Errorf("%s is left: %v", variables, err)
			}
			return nil
		},
		Steps: []resource.TestStep{
			{Config: config("uefi", ""), Check: says(t, "dumpxml accfw", plain)},
			{Config: config("uefi-secure", stopped), ConfigPlanChecks: updates(), Check: madeOf(t, enrolled)},
			{ // a change that was interrupted before the variables were made anew
				PreConfig: func() {
					virsh(t, "metadata", "accfw", "https://github.com/virtcluster/terraform-provider-virtcluster/node/1", "--config",
						"--key", "virtcluster", "--set", `<node><store firmware="uefi"/></node>`)
					if out, err := exec.Command("cp", plain, variables).CombinedOutput(); err != nil {
						t.Fatalf("put the old variables back: %s", out)
					}
				},
				Config: config("uefi-secure", stopped), ConfigPlanChecks: updates(), Check: madeOf(t, enrolled),
			},
			{Config: config("uefi", ""), ConfigPlanChecks: updates(), Check: says(t, "dumpxml accfw", plain)},
			{Config: config("uefi-secure", ""), ConfigPlanChecks: updates(), Check: says(t, "dumpxml accfw", `secure='yes'`, enrolled)},
			{Config: config("bios", stopped), ConfigPlanChecks: updates()},
		},
	})
}
