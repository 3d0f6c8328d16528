package node_test

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

// TestAccNodeWhoseGuestLetsGoOfNothing has a firmware without a system to boot, which never answers an unplugging.
func TestAccNodeWhoseGuestLetsGoOfNothing(t *testing.T) {
	pool, network, _ := stage(t, "nodeunplug")
	made := func(more string) string {
		return acctest.Provider() + fmt.Sprintf(`
resource "virtcluster_node" "n" {
  name             = "acc"
  type             = "qemu"
  memory_mib       = 32
  shutdown_timeout = "0s"
  root_disk        = { size_gib = 1, pool = %q }
%s
}
`, pool, more)
	}
	soon := "  timeouts = { update = \"8s\" }\n"
	disk, card := "  disks = { a = { size_gib = 1 } }\n", fmt.Sprintf("  network_interfaces = [{ network = %q }]\n", network)
	begins := resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectResourceAction(address, plancheck.ResourceActionUpdate), holds{[]string{"a"}, 1}}}
	both := func() {
		for _, flags := range [][]string{{"domblklist", "acc"}, {"domblklist", "acc", "--inactive"}} {
			t.Run(fmt.Sprint(flags), func(t *testing.T) {
				if got := virsh(t, flags...); !regexp.MustCompile(`acc-a\.qcow2`).MatchString(got) {
					t.Errorf("%v has lost the disk:\n%s", flags, got)
				}
			})
		}
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			{Config: made(soon + disk + card)},
			{Config: made(soon + card), ExpectError: regexp.MustCompile(`disks\["a"\]:\s+the\s+guest\s+did\s+not\s+let\s+go\s+of\s+the\s+device`)},
			{PreConfig: both, Config: made(soon + disk), ConfigPlanChecks: begins, ExpectError: regexp.MustCompile(`network_interfaces:\s+the\s+one\s+with\s+52:54:`)},
			{Config: made(soon + "  running = false\n"), ConfigPlanChecks: begins, Check: func(*terraform.State) error {
				if got := virsh(t, "vol-list", pool); regexp.MustCompile("acc-a").MatchString(got) {
					t.Errorf("the disk's volume is left:\n%s", got)
				}
				return nil
			}},
			{Config: made(disk + card)},
			{ // a restart that does not come in time leaves the disk and the card in what runs and in what is next, as the guest has them
				Config:      strings.Replace(made("  allow_restart = true\n  timeouts = { update = \"70s\" }\n"), `"0s"`, `"10m"`, 1),
				ExpectError: regexp.MustCompile(`Cannot\s+(change|update)\s+node`),
			},
			{ // it may be restarted, which it is once for all of them
				PreConfig: both,
				Config:    made("  rng = false\n  allow_restart = true\n"), ConfigPlanChecks: begins,
				Check: func(*terraform.State) error {
					if got := virsh(t, "dumpxml", "acc"); regexp.MustCompile("acc-a|<rng|<interface").MatchString(got) {
						t.Errorf("what runs has them still:\n%s", got)
					}
					return nil
				},
			},
		},
	})
}
