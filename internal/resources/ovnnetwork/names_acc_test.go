package ovnnetwork_test

import (
	"fmt"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// TestAccNamesOnOVN has a node on OVN ask a service node's BIND, which its view is meant for, for the name of a node on another hypervisor and for its
// address: OVN's DHCP tells the node whom to ask.
func TestAccNamesOnOVN(t *testing.T) {
	_, config := ovnStage(t)
	service := acctest.KnownServiceNodes(t, 1)[0]
	putOnWire(t)
	s := acctest.NewState(t)
	s.DestroyAtEnd()
	s.Apply(config(cardOnLAN("52:54:00:41:00:01", "10.19.41.211"), cardOnLAN("52:54:00:41:00:02", "10.19.41.212")) + fmt.Sprintf(`
resource "virtcluster_ovn_network" "lan" {
  ovn            = %q
  name           = "lan"
  mode           = "bridge"
  bridge_mapping = "lan"
  cidr           = "10.19.41.0/24"
  dhcp           = { nameservers = ["10.19.41.101"] }
}
resource "virtcluster_service_node" "dns" {
  endpoint = "ssh://root@%s"
  services = ["bind"]
}
resource "virtcluster_dns_view" "lan" {
  service_node  = virtcluster_service_node.dns.id
  name          = "lan"
  match_clients = ["10.19.41.0/24"]
}
resource "virtcluster_dns_zone" "nodes" {
  for_each     = { "lab.example" = { a = { A = ["10.19.41.211"] }, b = { A = ["10.19.41.212"] } }, "41.19.10.in-addr.arpa" = { "212" = { PTR = ["b.lab.example."] } } }
  service_node = virtcluster_dns_view.lan.service_node
  view         = virtcluster_dns_view.lan.name
  name         = each.key
  records      = each.value
}
`, acctest.Endpoint("hv-1"), service))
	s.Settled()
	for name, script := range map[string]string{
		"told by DHCP":          `/bin/busybox grep -qx "nameserver 10.19.41.101" /etc/resolv.conf`,
		"a name":                `/bin/busybox nslookup b.lab.example | /bin/busybox grep -q "10.19.41.212"`,
		"an address":            `/bin/busybox nslookup 10.19.41.212 | /bin/busybox grep -q "b.lab.example"`,
		"reached by its name":   `/bin/busybox ping -c1 -W2 b.lab.example`,
		"no name that is not b": `! /bin/busybox nslookup c.lab.example`,
	} {
		t.Run(name, func(t *testing.T) {
			if err := inGuest("hv-1", "acc-a", script)(nil); err != nil {
				t.Error(err)
			}
		})
	}
}
