package inventory_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// What a state had of a machine's own network, and of what others boot from it, is listed when that state is lost, and taken back by what Terraform
// generates of it. What the machine has by itself, or of a person, is not listed: nothing tells which of it an administrator made.
func TestAccListsOfAMachinesNetwork(t *testing.T) {
	acctest.InSandbox(t)
	address := acctest.KnownServiceNodes(t, 1)[0]
	endpoint := acctest.Endpoint("svc-1")
	byHandOn(t, "svc-1", "set -e; ip link add list0 type veth peer name list1; ip link add persons0 type bridge; ip route add 10.99.0.0/16 via 10.19.41.254",
		"set -e; ip route del 10.99.0.0/16 via 10.19.41.254; ip link del list0; ip link del persons0")
	byHandOn(t, "hypervisor", "ip link add list2 type veth peer name list3", "ip link del list2")
	s := acctest.NewStateWithActions(t)
	s.DestroyAtEnd()
	served := acctest.Provider() + fmt.Sprintf(`
resource "virtcluster_service_node" "it" {
  endpoint = %q
  services = ["ipxe"]
}
locals { node = virtcluster_service_node.it.id }
resource "virtcluster_http_content" "kernel" {
  service_node = local.node
  listen       = "%[2]s:8080"
  path         = "/vmlinuz"
  content      = "no kernel"
}
resource "virtcluster_boot_server" "it" {
  service_node = local.node
  http         = { address = %[2]q }
}
`, endpoint, address)
	s.Apply(served + `
resource "virtcluster_boot_profile" "it" {
  boot_server = virtcluster_boot_server.it.id
  name        = "worker-1"
  mac         = "52:54:00:b0:09:01"
  kernel      = virtcluster_http_content.kernel.url
  once        = false
}
resource "virtcluster_interface" "it" {
  host      = local.node
  name      = "list0"
  addresses = ["10.97.0.1/24"]
}
resource "virtcluster_external_bridge" "it" {
  host       = local.node
  name       = "listbr0"
  interfaces = [{ interface = "list1" }]
}
resource "virtcluster_external_bridge" "own" {
  name       = "listbr1"
  interfaces = [{ interface = "list2" }]
}
resource "virtcluster_route" "it" {
  host   = local.node
  cidr   = "10.88.0.0/16"
  via    = "10.19.41.254"
  metric = 50
}
`)
	s.Settled()
	kinds := []string{"boot_profile", "interface", "external_bridge", "route"}
	write := func(s *acctest.State, filter string) {
		t.Helper()
		var blocks strings.Builder
		for _, kind := range kinds {
			place := fmt.Sprintf("service_nodes = [%q]", endpoint)
			if kind == "interface" {
				place = fmt.Sprintf("host = %q", endpoint)
			}
			fmt.Fprintf(&blocks, "list \"virtcluster_%s\" \"all\" {\n  provider = virtcluster\n  include_resource = true\n  config {\n    %s\n    %s\n  }\n}\n", kind, place, filter)
		}
		fmt.Fprintf(&blocks, "list \"virtcluster_external_bridge\" \"own\" {\n  provider = virtcluster\n  include_resource = true\n  config {\n    %s\n  }\n}\n", filter)
		if err := os.WriteFile(filepath.Join(s.Dir, "all.tfquery.hcl"), []byte(blocks.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	other := acctest.NewStateWithActions(t)
	other.Write(acctest.Provider())
	write(other, `name_matches = "^list"`)
	out := other.Run("query")
	for name, want := range map[string]bool{"name=list0": true, "name=listbr0": true, "name=listbr1": true, "name=worker-1": false, "10.88.0.0": false} {
		t.Run(name, func(t *testing.T) {
			if strings.Contains(out, name) != want {
				t.Errorf("another state lists it of what is called list…, %t:\n%s", !want, out)
			}
		})
	}
	write(s, "")
	s.Write(served)
	lost := []string{"external_bridge.own"}
	for _, kind := range kinds {
		lost = append(lost, kind+".it")
	}
	for _, address := range lost {
		s.Run("state", "rm", "virtcluster_"+address)
	}
	out = s.Run("query", "-generate-config-out=generated.tf")
	if strings.Count(out, "list.virtcluster_") != len(lost) || strings.Contains(out, "persons0") || strings.Contains(out, "10.99.0.0") {
		t.Errorf("listed is:\n%s", out)
	}
	wantImports(t, s, len(lost))
	// What Terraform generated does not say that one of these is in the other.
	s.Run("destroy", "-auto-approve", "-target=virtcluster_boot_profile.all_0")
}
