package ovnnetwork_test

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// loseHypervisor has a machine, and the guests there, be out of reach until the test ends.
func loseHypervisor(t *testing.T, machine string) {
	t.Helper()
	acctest.On(t, machine, "sh", "-ec", "for guest in $(virsh list --name); do virsh destroy $guest; done; ip link set eth0 down")
	t.Cleanup(func() {
		const back = "ip link set eth0 up; for guest in $(virsh list --all --name); do virsh undefine $guest; done; virsh pool-destroy ovn; virsh pool-undefine ovn; rm -rf /var/lib/libvirt/ovn"
		_, _ = acctest.Try(context.WithoutCancel(t.Context()), machine, "sh", "-c", back)
	})
}

// What was on a hypervisor that does not answer is an error of the plan, until the provider is told that it is lost: then it is made on another one,
// with the address that it had.
func TestAccNodeOnOVNOfALostHypervisor(t *testing.T) {
	nb, config := ovnStage(t)
	const a, b = `{ NET, mac = "52:54:00:50:00:01", ip = "10.50.0.11" }`, `{ NET, mac = "52:54:00:50:00:02", ip = "10.50.0.12", port_security = true }`
	both := config(a, b)
	lost := strings.Replace(both, fmt.Sprintf("hv-2 = { uri = %q }", acctest.HypervisorURI("hv-2")), fmt.Sprintf("hv-2 = { uri = %q, lost = true }", acctest.HypervisorURI("hv-2")), 1)
	at := strings.Index(lost, `resource "virtcluster_node" "b"`)
	moved := lost[:at] + strings.ReplaceAll(strings.ReplaceAll(lost[at:], `hypervisor         = "hv-2"`, `hypervisor         = "hv-1"`), "virtcluster_image.hv-2.id", "virtcluster_image.hv-1.id")
	moved = regexp.MustCompile(`(?s)resource "virtcluster_storage_pool" "hv-2".*?resource "virtcluster_node" "a"`).ReplaceAllString(moved, `resource "virtcluster_node" "a"`)
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			{Config: both, Check: func(*terraform.State) error {
				heedsLinkOn(t, "hv-1", "acc-a")
				return nil
			}},
			{PreConfig: func() { loseHypervisor(t, "hv-2") }, Config: both, PlanOnly: true, ExpectError: regexp.MustCompile(`hypervisor\s+\S+\s+cannot\s+be\s+reached|Cannot\s+read`)},
			{Config: strings.ReplaceAll(lost, "shutdown_timeout   = \"0s\"", "shutdown_timeout   = \"1s\""), PlanOnly: true, ExpectError: regexp.MustCompile(`Lost hypervisor`)},
			{Config: moved, Check: resource.ComposeTestCheckFunc(reaches("hv-1", "acc-a", "10.50.0.12"), func(*terraform.State) error {
				if ports := strings.Fields(nb("--bare", "--columns=name", "list", "Logical_Switch_Port")); len(ports) != 3 {
					return fmt.Errorf("the ports are %v", ports)
				}
				return nil
			})},
			{Config: moved, PlanOnly: true},
		},
	})
}
