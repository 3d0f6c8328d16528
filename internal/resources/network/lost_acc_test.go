package network_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

func TestAccNetworkGetsLostMachinesBack(t *testing.T) {
	lose := func() {
		shell(t, "virsh", "net-destroy", "acc0")
		shell(t, "virsh", "net-start", "acc0")
	}
	drift := resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
		plancheck.ExpectResourceAction(address, plancheck.ResourceActionUpdate),
		plancheck.ExpectKnownValue(address, tfjsonpath.New("active"), knownvalue.Bool(true)),
	}}
	mended := func(*terraform.State) error {
		if out := shell(t, "ip", "-o", "link", "show", "master", "accbr0"); strings.Count(out, "vnet") != 2 {
			t.Errorf("the bridge has %q", out)
		}
		return nil
	}
	stop := func() { _ = exec.Command("virsh", "destroy", "acclost").Run() }
	t.Cleanup(stop)
	test(t, "acc0",
		resource.TestStep{Config: config(management), Check: func(*terraform.State) error {
			file := filepath.Join(t.TempDir(), "guest.xml")
			xml := `<domain type='qemu'><name>acclost</name><memory unit='MiB'>32</memory><os><type arch='x86_64' machine='q35'>hvm</type></os><devices>
<interface type='network'><source network='acc0'/><model type='virtio'/></interface><interface type='bridge'><source bridge='accbr0'/><model type='virtio'/></interface></devices></domain>`
			if err := os.WriteFile(file, []byte(xml), 0o600); err != nil {
				return err
			}
			shell(t, "virsh", "create", file)
			return nil
		}},
		resource.TestStep{Config: config(management), ConfigPlanChecks: unchanged},
		resource.TestStep{PreConfig: lose, RefreshState: true, ExpectNonEmptyPlan: true, Check: resource.TestCheckResourceAttr(address, "active", "false")},
		resource.TestStep{Config: config(management), ConfigPlanChecks: drift, Check: mended},
		resource.TestStep{PreConfig: lose, Config: config(management + "domain = \"lost.example\""), ConfigPlanChecks: drift, Check: mended},
		resource.TestStep{PreConfig: stop, Config: config(management)},
	)
}

// Two subnets of one family are not the provider's, but an import may bring them.
func TestAccNetworkImportedWithTwoSubnets(t *testing.T) {
	acctest.BothCLIs(t)
	const two = `<network><name>acc0</name><bridge name='accbr0'/><ip address='10.110.0.1' prefix='24'/>` +
		`<ip address='10.111.0.1' prefix='24'><dhcp><range start='10.111.0.10' end='10.111.0.20'/></dhcp></ip></network>`
	attributes := func(end, more string) string {
		return config(`
  name   = "acc0"
  mode   = "isolated"
  bridge = "accbr0"
  cidr   = "10.111.0.0/24"
  `+end+more) + "import {\n  to = " + address + "\n  id = \"acc0\"\n}\n"
	}
	dhcp := func(end string) string {
		return `dhcp = { ranges = [{ start = "10.111.0.10", end = "10.111.0.` + end + "\" }] }\n"
	}
	kept := func(want ...string) resource.TestCheckFunc {
		return has(t, "acc0", append(want, "address='10.110.0.1'")...)
	}
	test(t, "acc0",
		resource.TestStep{PreConfig: func() {
			file := filepath.Join(t.TempDir(), "two.xml")
			if err := os.WriteFile(file, []byte(two), 0o600); err != nil {
				t.Fatal(err)
			}
			shell(t, "virsh", "net-define", file)
			shell(t, "virsh", "net-start", "acc0")
		}, Config: attributes(dhcp("20"), ""), Check: kept("10.111.0.20")},
		resource.TestStep{Config: attributes(dhcp("30"), ""), Check: kept("end='10.111.0.30'")},
		resource.TestStep{Config: attributes(dhcp("30"), "domain = \"two.example\"\n"), Check: kept("end='10.111.0.30'", "two.example")},
		resource.TestStep{Config: attributes("", "domain = \"two.example\"\n"), Check: lacks(t, "acc0", "<dhcp>")},
		resource.TestStep{Config: attributes(dhcp("40"), "domain = \"two.example\"\n"), Check: kept("end='10.111.0.40'")},
	)
}
