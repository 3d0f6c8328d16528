package vip_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// TestAccBothFamiliesMoveOnTheWire has a VIP of IPv6 alone, in a spelling of its own, and one of both families
// with either one first.
func TestAccBothFamiliesMoveOnTheWire(t *testing.T) {
	acctest.InSandbox(t)
	ids := machines(t, 2)
	sixth := func(machine, device, address string) {
		acctest.On(t, machine, "ip", "address", "replace", address+"/64", "dev", device, "nodad")
		t.Cleanup(func() {
			if out, err := acctest.Try(context.Background(), machine, "ip", "address", "delete", address+"/64", "dev", device); err != nil {
				t.Errorf("take %s from %s: %v: %s", address, machine, err, out)
			}
		})
	}
	sixth("hypervisor", "svcbr0", "fd00:100::fe")
	sixth("svc-1", "eth0", "fd00:100::101")
	sixth("svc-2", "eth0", "fd00:100::102")
	sixth("svc-1", "eth0", "fe80::101")
	sixth("svc-2", "eth0", "fe80::102")
	one := func(label, name, addresses string) string {
		return fmt.Sprintf(`
resource "virtcluster_vip" %q {
  name      = %q
  addresses = [%s]
  members   = { svc-1 = { service_node = %q, interface = "eth0" }, svc-2 = { service_node = %q, interface = "eth0" } }
}
`, label, name, addresses, ids[0], ids[1])
	}
	config := acctest.Provider() +
		one("six", "only-six", `"FD00:100:0::A0/64", "fd00:100::a1/64"`) +
		one("four_first", "four-first", `"10.0.100.250/24", "fd00:100::b0/64"`) +
		one("six_first", "six-first", `"fd00:100::c0/64", "10.0.100.251/24"`) +
		fmt.Sprintf(`
resource "virtcluster_vip" "link_local" {
  name      = "link-local"
  addresses = ["fd00:100::d0/64"]
  unicast   = false
  members   = { svc-1 = { service_node = %q, interface = "eth0", address = "fe80::101" }, svc-2 = { service_node = %q, interface = "eth0", address = "fe80::102" } }
}
`, ids[0], ids[1])
	all := []string{"fd00:100::a0", "fd00:100::a1", "10.0.100.250", "fd00:100::b0", "fd00:100::c0", "10.0.100.251", "fd00:100::d0"}
	reached := func(machine string) error {
		for _, address := range all {
			comesTo(t, address, machine)
			if out, err := acctest.Try(t.Context(), "hypervisor", "ping", "-c1", "-W2", address); err != nil {
				return fmt.Errorf("%s does not answer: %w: %s", address, err, out)
			}
		}
		return nil
	}
	owner := func(label, version string) resource.TestCheckFunc {
		return resource.ComposeAggregateTestCheckFunc(resource.TestCheckResourceAttr("virtcluster_vip."+label, "owner", "svc-1"),
			resource.TestCheckResourceAttr("virtcluster_vip."+label, "version", version))
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			{Config: config, Check: resource.ComposeTestCheckFunc(owner("six", "3"), owner("four_first", "2"), owner("six_first", "3"),
				resource.TestCheckResourceAttr("virtcluster_vip.six", "instances.svc-2.address", "fd00:100::102"),
				resource.TestCheckResourceAttr("virtcluster_vip.four_first", "instances.svc-2.address", "10.0.100.102"),
				func(*terraform.State) error { return reached("svc-1") })},
			{PreConfig: func() {
				acctest.On(t, "svc-1", "systemctl", "stop", "keepalived")
				if err := reached("svc-2"); err != nil {
					t.Error(err)
				}
				acctest.On(t, "svc-1", "systemctl", "start", "keepalived")
				if err := reached("svc-1"); err != nil {
					t.Error(err)
				}
			}, Config: config, PlanOnly: true},
			{ResourceName: "virtcluster_vip.six_first", ImportState: true, ImportStateIdFunc: func(*terraform.State) (string, error) {
				return fmt.Sprintf("svc-1=%s,svc-2=%s#six-first", ids[0], ids[1]), nil
			}, ImportStateVerify: true, ImportStateVerifyIgnore: []string{"members"}},
		},
		CheckDestroy: func(*terraform.State) error { return nothingLeft(t, "svc-1", "svc-2") },
	})
}
