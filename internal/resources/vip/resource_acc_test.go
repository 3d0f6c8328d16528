package vip_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
)

// machines are the ids of n service nodes, as virtcluster_service_node has them.
func machines(t *testing.T, n int) []string {
	t.Helper()
	var ids []string
	for i, address := range acctest.ServiceNodes(t, n) {
		printed := acctest.On(t, fmt.Sprintf("svc-%d", i+1), "ssh-keygen", "-lf", "/etc/ssh/ssh_host_ed25519_key.pub")
		ids = append(ids, host.ShortenReferences("ssh://root@"+address+"?host_key="+strings.Fields(printed)[1]))
	}
	return ids
}

// vip is a configuration of one VIP; extra are further attributes.
func vip(ids []string, address, extra string) string {
	members := ""
	for i, id := range ids {
		members += fmt.Sprintf("    svc-%d = { service_node = %q, interface = \"eth0\" }\n", i+1, id)
	}
	return acctest.Provider() + fmt.Sprintf("resource \"virtcluster_vip\" \"test\" {\n  name = \"vmware-api\"\n  addresses = [%q]\n  members = {\n%s  }\n%s\n}\n", address, members, extra)
}

const test = "virtcluster_vip.test"

func TestAccVIPIsHeldByOneOfTwo(t *testing.T) {
	acctest.BothCLIs(t)
	acctest.InSandbox(t)
	ids := machines(t, 2)
	id := importID(ids)
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			{
				Config: vip(ids, "10.0.100.250/24", ""),
				Check: resource.ComposeAggregateTestCheckFunc(
					resource.TestCheckResourceAttr(test, "id", "10.0.100.250#vmware-api"),
					resource.TestCheckResourceAttr(test, "virtual_router_id", "109"),
					resource.TestCheckResourceAttr(test, "owner", "svc-1"),
					resource.TestCheckResourceAttr(test, "instances.svc-1.address", "10.0.100.101"),
					resource.TestCheckResourceAttr(test, "instances.svc-2.priority", "240"),
				),
			},
			{ResourceName: test, ImportState: true, ImportStateId: id, ImportStateVerify: true, ImportStateVerifyIgnore: []string{"members"}},
			// With an import block, whose plan has to be empty.
			{ResourceName: test, ImportState: true, ImportStateKind: resource.ImportBlockWithID, ImportStateId: id},
		},
		CheckDestroy: func(*terraform.State) error { return nothingLeft(t, "svc-1", "svc-2") },
	})
}

// importID is what an import takes for the VIP of vip.
func importID(ids []string) string {
	var parts []string
	for i, id := range ids {
		parts = append(parts, fmt.Sprintf("svc-%d=%s", i+1, id))
	}
	return strings.Join(parts, ",") + "#vmware-api"
}

// pair is the inside and the outside address of two service nodes, which move together.
func pair(ids []string) string {
	members := func(device, prefix string) string {
		text := ""
		for i, id := range ids {
			text += fmt.Sprintf("svc-%d = { service_node = %q, interface = %q, address = \"%s.%d\", priority = %d }\n", i+1, id, device, prefix, 101+i, 200-i*50)
		}
		return text
	}
	return acctest.Provider() + fmt.Sprintf(`
resource "virtcluster_vip" "inside" {
  name       = "okd-api"
  addresses  = ["10.0.100.250/24"]
  sync_group = "okd"
  members    = {
%s  }
  track      = [{ name = "ssh", process = "sshd" }]
}
resource "virtcluster_vip" "outside" {
  name       = "okd-ingress"
  addresses  = ["10.19.41.160/24"]
  sync_group = "okd"
  members    = {
%s  }
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
					resource.TestCheckResourceAttr("virtcluster_vip.inside", "owner", "svc-1"),
					resource.TestCheckResourceAttr("virtcluster_vip.outside", "owner", "svc-1"),
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
