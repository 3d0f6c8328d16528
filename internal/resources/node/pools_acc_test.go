package node_test

import (
	"os"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// contents lists the volumes of pools, each as POOL/VOLUME.
func contents(t *testing.T, pools ...string) string {
	t.Helper()
	var all []string
	for _, pool := range pools {
		for line := range strings.Lines(virsh(t, "vol-list", pool)) {
			if fields := strings.Fields(line); len(fields) == 2 && fields[0] != "Name" && !strings.Contains(fields[0], ".virtcluster-") { // marks are beside what they mark
				all = append(all, pool+"/"+fields[0])
			}
		}
	}
	return strings.Join(all, " ")
}

func TestAccNodeHasDisksInSeveralPools(t *testing.T) {
	pool, network, image := stage(t, "nodepools")
	for _, name := range []string{"poolfast", "poolbulk"} {
		virsh(t, "pool-create-as", name, "dir", "--target", t.TempDir())
		t.Cleanup(func() { virsh(t, "pool-destroy", name) })
	}
	replaced := resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectResourceAction(address, plancheck.ResourceActionReplace)}}
	// Behind libvirt's back, which goes on listing them.
	remove := func(volumes ...string) func() {
		return func() {
			for _, v := range volumes {
				pool, name, _ := strings.Cut(v, "/")
				if err := os.Remove(strings.TrimSpace(virsh(t, "vol-path", "--pool", pool, name))); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	pools := []string{pool, "poolfast", "poolbulk"}
	hold := func(want string) resource.TestCheckFunc {
		return func(*terraform.State) error {
			if got := contents(t, pools...); got != want {
				t.Errorf("the pools hold\n%s, want\n%s", got, want)
			}
			return nil
		}
	}
	node := func(disks string) string {
		return strings.Replace(config(image, network, "  running = false\n  cloud_init = {}\n"+disks), "size_gib = 1 }", `size_gib = 1, pool = "poolfast" }`, 1)
	}
	both := node("  disks = { log = { size_gib = 1, pool = \"poolbulk\" }, swap = { size_gib = 1, pool = \"nodepools\" } }\n")
	inBoth := "nodepools/acc-swap.qcow2 nodepools/tiny.qcow2 poolfast/acc-root.qcow2 poolfast/acc-seed.iso poolbulk/acc-log.qcow2"
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		CheckDestroy:             hold("nodepools/tiny.qcow2"),
		Steps: []resource.TestStep{
			{Config: both, Check: hold(inBoth)},
			{Config: strings.Replace(both, `"nodepools"`, `"poolbulk"`, 1), PlanOnly: true, ExpectError: wrapped("A disk cannot move to another pool")},
			{ // one more in a pool, and one less in another
				Config: strings.Replace(both, `swap = { size_gib = 1, pool = "nodepools"`, `spare = { size_gib = 1, pool = "poolbulk"`, 1),
				Check:  hold("nodepools/tiny.qcow2 poolfast/acc-root.qcow2 poolfast/acc-seed.iso poolbulk/acc-log.qcow2 poolbulk/acc-spare.qcow2"),
			},
			{Config: both, Check: hold(inBoth)},
			{PreConfig: remove("poolbulk/acc-log.qcow2", "poolfast/acc-seed.iso"), Config: both, ConfigPlanChecks: updates(), Check: hold(inBoth)},
			{PreConfig: remove("poolfast/acc-root.qcow2"), Config: both, ConfigPlanChecks: replaced, Check: hold(inBoth)},
			{Config: imported(both), ConfigPlanChecks: unchanged, Check: hold(inBoth)},
		},
	})
}
