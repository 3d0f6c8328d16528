package vip_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// machines are the ids of n service nodes, as virtcluster_service_node has them.
func machines(t *testing.T, n int) []string {
	t.Helper()
	var ids []string
	for i, address := range acctest.ServiceNodes(t, n) {
		printed := acctest.On(t, fmt.Sprintf("svc-%d", i+1), "ssh-keygen", "-lf", "/etc/ssh/ssh_host_ed25519_key.pub")
		ids = append(ids, "ssh://root@"+address+"?host_key="+url.QueryEscape(strings.Fields(printed)[1]))
	}
	return ids
}

// vip is a configuration of one VIP; extra are further attributes.
func vip(ids []string, address, extra string) string {
	members := ""
	for _, id := range ids {
		members += fmt.Sprintf("    { service_node = %q, interface = \"eth0\" },\n", id)
	}
	return acctest.Provider() + fmt.Sprintf("resource \"virtcluster_vip\" \"test\" {\n  name = \"vmware-api\"\n  addresses = [%q]\n  members = [\n%s  ]\n%s\n}\n", address, members, extra)
}

const test = "virtcluster_vip.test"

func TestAccVIPIsHeldByOneOfTwo(t *testing.T) {
	acctest.BothCLIs(t)
	acctest.InSandbox(t)
	ids := machines(t, 2)
	id := strings.Join(ids, ",") + "#vmware-api"
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			{
				Config: vip(ids, "10.0.100.250/24", ""),
				Check: resource.ComposeAggregateTestCheckFunc(
					resource.TestCheckResourceAttr(test, "id", id),
					resource.TestCheckResourceAttr(test, "virtual_router_id", "109"),
					resource.TestCheckResourceAttr(test, "owner", ids[0]),
					resource.TestCheckResourceAttr(test, "members.0.address", "10.0.100.101"),
					resource.TestCheckResourceAttr(test, "members.1.priority", "240"),
				),
			},
			{ResourceName: test, ImportState: true, ImportStateId: id, ImportStateVerify: true},
			// With an import block, whose plan has to be empty.
			{ResourceName: test, ImportState: true, ImportStateKind: resource.ImportBlockWithID, ImportStateId: id},
		},
		CheckDestroy: func(*terraform.State) error { return nothingLeft(t, "svc-1", "svc-2") },
	})
}

// pair is the inside and the outside address of two service nodes, which move together.
func pair(ids []string) string {
	members := func(device, prefix string) string {
		text := ""
		for i, id := range ids {
			text += fmt.Sprintf("{ service_node = %q, interface = %q, address = \"%s.%d\", priority = %d },\n", id, device, prefix, 101+i, 200-i*50)
		}
		return text
	}
	return acctest.Provider() + fmt.Sprintf(`
resource "virtcluster_vip" "inside" {
  name       = "okd-api"
  addresses  = ["10.0.100.250/24"]
  sync_group = "okd"
  members    = [%s]
  track      = [{ name = "ssh", process = "sshd" }]
}
resource "virtcluster_vip" "outside" {
  name       = "okd-ingress"
  addresses  = ["10.19.41.160/24"]
  sync_group = "okd"
  members    = [%s]
}
`, members("eth0", "10.0.100"), members("eth1", "10.19.41"))
}

func TestAccVIPsOfASyncGroupMoveTogether(t *testing.T) {
	acctest.InSandbox(t)
	ids := machines(t, 2)
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			{
				Config: pair(ids),
				Check: resource.ComposeAggregateTestCheckFunc(
					resource.TestCheckResourceAttr("virtcluster_vip.inside", "owner", ids[0]),
					resource.TestCheckResourceAttr("virtcluster_vip.outside", "owner", ids[0]),
				),
			},
			{
				PreConfig: func() {
					// The inside one has nothing to do with eth1, and goes along.
					acctest.On(t, "svc-1", "ip", "link", "set", "eth1", "down")
					comesTo(t, "10.19.41.160", "svc-2")
					comesTo(t, "10.0.100.250", "svc-2")
					acctest.On(t, "svc-1", "ip", "link", "set", "eth1", "up")
					comesTo(t, "10.19.41.160", "svc-1")
					comesTo(t, "10.0.100.250", "svc-1")
				},
				Config: pair(ids), PlanOnly: true,
			},
		},
		CheckDestroy: func(*terraform.State) error { return nothingLeft(t, "svc-1", "svc-2") },
	})
}
