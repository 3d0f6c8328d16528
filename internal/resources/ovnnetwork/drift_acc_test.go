package ovnnetwork_test

import (
	"fmt"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// TestAccOVNNetworkDrift has a person change what each attribute of networks and security groups says: it shows there, and one apply mends all of it.
func TestAccOVNNetworkDrift(t *testing.T) {
	acctest.InSandbox(t)
	nb := central(t, acctest.Hypervisors(t, 1)[0])
	s := acctest.NewState(t)
	s.DestroyAtEnd()
	s.Apply(config("hv-1", told+"\n  ipv6_cidr = \"fd00:50::/64\"") + fmt.Sprintf(`
locals { ovn = %q }
resource "virtcluster_ovn_network" "lan" {
  ovn            = local.ovn
  name           = "lan"
  mode           = "bridge"
  bridge_mapping = "lan"
  cidr           = "10.51.0.0/24"
  gateway        = "10.51.0.1"
  dhcp           = {}
}
resource "virtcluster_ovn_network" "plain" {
  ovn     = local.ovn
  name    = "plain"
  cidr    = "10.52.0.0/24"
  gateway = "10.52.0.1"
}
resource "virtcluster_ovn_security_group" "web" {
  ovn  = local.ovn
  name = "web"
  rules = [
    { direction = "ingress", protocol = "tcp", ports = "8080" },
    { direction = "ingress", protocol = "udp", remote = "friends" },
    { direction = "egress", protocol = "any" },
  ]
  address_sets = { friends = ["10.50.0.11", "10.60.0.0/24"], foes = ["10.50.0.12"] }
}
`, acctest.Endpoint("hv-1")))
	s.Settled()
	dhcp := func(network string) string {
		return nb("--bare", "--columns=_uuid", "find", "DHCP_Options", "external_ids:virtcluster-network="+network)
	}
	change := func(argv ...string) func() { return func() { nb(argv...) } }
	option := func(text string) func() {
		return func() { nb("set", "DHCP_Options", dhcp("nodes"), "options:"+text) }
	}
	s.MendsDrift(name,
		acctest.Drift{Name: "mtu", Change: option("mtu=9000"), Shows: "mtu"},
		acctest.Drift{Name: "lease", Change: option("lease_time=60"), Shows: "dhcp.lease_seconds"},
		acctest.Drift{Name: "name servers", Change: option(`dns_server="{10.50.0.3, 10.50.0.2}"`), Shows: "dhcp.nameservers"},
		acctest.Drift{Name: "an option", Change: option("ntp_server=10.50.0.9"), Shows: "dhcp.options.ntp_server"},
		acctest.Drift{Name: "another option", Change: option("log_server=10.50.0.9"), Shows: "dhcp.options.log_server"},
		acctest.Drift{Name: "pool", Change: change("set", "Logical_Switch", "nodes", `other_config:exclude_ips="10.50.0.1"`), Shows: "dhcp.pool"},
		acctest.Drift{Name: "gateway", Change: option("router=10.50.0.254"), Shows: "gateway"},
		acctest.Drift{Name: "IPv6", Change: change("set", "Logical_Switch", "nodes", `other_config:ipv6_prefix="fd00:51::"`), Shows: "ipv6_cidr"},
		acctest.Drift{Name: "cidr", Change: change("set", "Logical_Switch", "nodes", "other_config:subnet=10.50.0.0/25"), Shows: "cidr"},
	)
	s.MendsDrift(name, acctest.Drift{Name: "the network that guests are told of", Change: func() { nb("set", "DHCP_Options", dhcp("nodes"), "cidr=10.59.0.0/24") }, Shows: "cidr"})
	s.MendsDrift(name, acctest.Drift{Name: "the server that leases come from", Change: func() { nb("remove", "DHCP_Options", dhcp("nodes"), "options", "server_id") }, Shows: "dhcp"})
	s.MendsDrift(name, acctest.Drift{Name: "what guests are told is gone", Change: func() { nb("dhcp-options-del", dhcp("nodes")) }, Shows: "dhcp"})

	const lan = "virtcluster_ovn_network.lan"
	s.MendsDrift(lan,
		acctest.Drift{Name: "bridge mapping", Change: change("set", "Logical_Switch_Port", "lan-localnet", "options:network_name=other"), Shows: "bridge_mapping"},
		acctest.Drift{Name: "its port to the network of the chassis is gone", Change: change("lsp-del", "lan-localnet"), Shows: "bridge_mapping mode"},
		acctest.Drift{Name: "a person has DHCP hand out addresses", Change: change("remove", "Logical_Switch", "lan", "other_config", "exclude_ips"), Shows: "dhcp.pool"},
	)
	const plain = "virtcluster_ovn_network.plain"
	s.MendsDrift(plain,
		acctest.Drift{Name: "gateway without DHCP", Change: change("remove", "Logical_Switch", "plain", "external_ids", "virtcluster-gateway"), Shows: "gateway"},
		acctest.Drift{Name: "cidr without DHCP", Change: change("set", "Logical_Switch", "plain", "other_config:subnet=10.53.0.0/24"), Shows: "cidr"},
	)
	s.MendsDrift(plain, acctest.Drift{Name: "name", Change: change("set", "Logical_Switch", "plain", "name=persons-own"), Shows: "made"})
	nb("ls-del", "persons-own")

	const web = "virtcluster_ovn_security_group.web"
	acl := func(rule string) string {
		return nb("--bare", "--columns=_uuid", "find", "ACL", `external_ids:virtcluster-rule="`+rule+`"`)
	}
	for what, change := range map[string]string{"direction": "direction=from-lport", "match": `match="outport == @web && tcp && tcp.dst == 8081"`, "action": "action=drop", "priority": "priority=900"} {
		s.MendsDrift(web, acctest.Drift{Name: what, Change: func() { nb("set", "ACL", acl("ingress tcp 8080 "), change) }, Shows: "rules"})
	}
	s.MendsDrift(web, acctest.Drift{Name: "what refuses the rest", Change: func() { nb("remove", "Port_Group", "web", "acls", acl("deny ingress")) }, Shows: "rules"})
	s.MendsDrift(web,
		acctest.Drift{Name: "members", Change: change("set", "Address_Set", "web.friends.v4", "addresses=10.50.0.99"), Shows: "address_sets.friends"},
		acctest.Drift{Name: "an address set is gone", Change: change("destroy", "Address_Set", "web.foes.v4", "--", "destroy", "Address_Set", "web.foes.v6"), Shows: "address_sets.foes"},
	)
	s.MendsDrift(web, acctest.Drift{Name: "half of an address set is gone", Change: change("destroy", "Address_Set", "web.friends.v6"), Shows: "address_sets.friends"})
	s.MendsDrift(web, acctest.Drift{Name: "name", Change: change("set", "Port_Group", "web", "name=persons_own"), Shows: "made"})
	nb("pg-del", "persons_own")
}
