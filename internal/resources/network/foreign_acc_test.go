package network_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

func TestAccNetworkLeavesAForeignBridge(t *testing.T) {
	acctest.InSandbox(t)
	shell(t, "ip", "link", "add", "accforeign", "type", "bridge")
	t.Cleanup(func() { _ = exec.Command("ip", "link", "del", "accforeign").Run() })
	const foreign = "name = \"acc0\"\nmode = \"bridge\"\nbridge = \"accforeign\""
	test(t, "acc0",
		resource.TestStep{Config: config(foreign)},
		resource.TestStep{Config: config("name = \"acc0\"\ncidr = \"10.91.0.0/24\""), ConfigPlanChecks: inPlace, Check: resource.ComposeTestCheckFunc(
			lacks(t, "acc0", "accforeign"), resource.TestCheckResourceAttrSet(address, "bridge"), resource.TestCheckResourceAttrSet(address, "mac"))},
		resource.TestStep{Config: config(foreign), ConfigPlanChecks: inPlace, Check: func(*terraform.State) error {
			shell(t, "ip", "link", "show", "accforeign")
			return nil
		}},
	)
}

func TestAccNetworkOfAnotherKindIsNotImported(t *testing.T) {
	acctest.BothCLIs(t)
	acctest.InSandbox(t)
	for name, forward := range map[string]string{"passthrough": "<forward mode='passthrough'><interface dev='eno1'/></forward>", "macvtap": "<forward mode='bridge'><interface dev='eno1'/></forward>"} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "network.xml")
			if err := os.WriteFile(file, []byte("<network><name>acckind0</name>"+forward+"</network>"), 0o600); err != nil {
				t.Fatal(err)
			}
			shell(t, "virsh", "net-define", file)
			t.Cleanup(func() { shell(t, "virsh", "net-undefine", "acckind0") })
			resource.Test(t, resource.TestCase{ProtoV6ProviderFactories: acctest.Providers, Steps: []resource.TestStep{
				{Config: config("name = \"acckind0\"\nmode = \"isolated\""), ResourceName: address, ImportState: true, ImportStateId: "acckind0", ImportStatePersist: true, ExpectError: spaced("which virtcluster_network does not manage")},
			}})
		})
	}
}
