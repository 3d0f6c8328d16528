package externalbridge_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

func config(extra string) string {
	return acctest.Provider() + fmt.Sprintf(`
resource "virtcluster_external_bridge" "test" {
  name       = "accbr1"
  interfaces = ["eno1"]
  %s
}
`, extra)
}

func TestAccExternalBridge(t *testing.T) {
	acctest.BothCLIs(t)
	acctest.InSandbox(t)
	before := acctest.On(t, "hypervisor", "ip", "-br", "-4", "address")
	has := func(device, address string) resource.TestCheckFunc {
		return func(*terraform.State) error {
			if got := acctest.On(t, "hypervisor", "ip", "-br", "-4", "address", "show", "dev", device); !strings.Contains(got, address) {
				return fmt.Errorf("%s has %q, want %s", device, got, address)
			}
			acctest.On(t, "hypervisor", "ping", "-c", "2", "-i", "0.2", "10.19.41.254")
			return nil
		}
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		CheckDestroy: func(*terraform.State) error {
			if after := acctest.On(t, "hypervisor", "ip", "-br", "-4", "address"); after != before {
				return fmt.Errorf("left:\n%s\nbefore:\n%s", after, before)
			}
			return nil
		},
		Steps: []resource.TestStep{
			{Config: strings.ReplaceAll(config(""), "eno1", "eno9"), ExpectError: regexp.MustCompile(`no interface\s+"eno9"`), PlanOnly: true},
			{Config: strings.ReplaceAll(config(""), "accbr1", "a-name-that-is-too-long"), ExpectError: regexp.MustCompile("Invalid bridge name"), PlanOnly: true},
			{Config: config(""), Check: has("accbr1", "10.19.41.10/24")},
			{
				Config: config("mtu = 1400"), Check: has("accbr1", "10.19.41.10/24"),
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
					plancheck.ExpectResourceAction("virtcluster_external_bridge.test", plancheck.ResourceActionUpdate),
				}},
			},
			{ResourceName: "virtcluster_external_bridge.test", ImportState: true, ImportStateVerify: true, ImportStateVerifyIgnore: []string{"mtu"}},
			{
				PreConfig: func() { acctest.On(t, "hypervisor", "ip", "link", "set", "accbr1", "type", "bridge", "stp_state", "1") },
				Config:    config("mtu = 1400"), Check: has("accbr1", "10.19.41.10/24"),
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
					plancheck.ExpectResourceAction("virtcluster_external_bridge.test", plancheck.ResourceActionUpdate),
				}},
			},
		},
	})
}

func TestAccExternalBridgeOfANetworksNameIsRefused(t *testing.T) {
	acctest.InSandbox(t)
	network := func(mode, bridge string) string {
		return fmt.Sprintf("\nresource \"virtcluster_network\" \"n\" {\n  name   = \"accnet1\"\n  mode   = %q\n  bridge = %q\n}\n", mode, bridge)
	}
	taken := regexp.MustCompile(`(?s)Bridge name taken.*bridge\s+accbr1\s+on\s+.*is\s+the\s+one\s+of\s+(external\s+bridge\s+"accbr1"|network\s+"accnet1")`)
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			{Config: config("") + network("isolated", "accbr1"), ExpectError: taken, PlanOnly: true},
			{Config: config(`host = "local:"`) + network("isolated", "accbr1"), ExpectError: taken, PlanOnly: true},
			// These two are meant for each other.
			{Config: config("") + network("bridge", "accbr1"), PlanOnly: true, ExpectNonEmptyPlan: true},
		},
	})
}
