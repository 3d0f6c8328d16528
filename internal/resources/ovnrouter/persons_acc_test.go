package ovnrouter_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// personsConfig is a router with two networks, of which one has IPv6 alone, and what extra says of it.
func personsConfig(networks, extra string) string {
	return acctest.Provider() + fmt.Sprintf(`
locals { ovn = %q }
resource "virtcluster_ovn_network" "nodes" {
  ovn     = local.ovn
  name    = "nodes"
  cidr    = "10.50.0.0/24"
  gateway = "10.50.0.1"
}
resource "virtcluster_ovn_network" "six" {
  ovn       = local.ovn
  name      = "six"
  ipv6_cidr = "fd00:51::/64"
}
%s
resource "virtcluster_ovn_router" "lab" {
  ovn      = local.ovn
  name     = "lab"
  external = { bridge_mapping = "lan", address = "10.19.41.200/24", gateway = "10.19.41.254", chassis = ["one"] }
  %s
}
`, acctest.Endpoint("hv-1"), networks, extra)
}

// TestAccWhatAPersonDoesWithARouter has a person add to a router of this state, and remove of it, what a person may: what is added is that person's whatever it
// is called, no plan shows it, and no change takes it; and what is removed keeps nobody from destroying the rest.
func TestAccWhatAPersonDoesWithARouter(t *testing.T) {
	acctest.InSandbox(t)
	acctest.Hypervisors(t, 1)
	acctest.StartOVNCentral(t, "hv-1")
	nb := acctest.Northbound(t, "hv-1")
	const dmz = `
resource "virtcluster_ovn_network" "dmz" {
  ovn     = local.ovn
  name    = "dmz"
  cidr    = "10.51.0.0/24"
  gateway = "10.51.0.1"
}
`
	const nodes, both, routes = "networks = [virtcluster_ovn_network.nodes.name]\n", "networks = [virtcluster_ovn_network.nodes.name, virtcluster_ovn_network.dmz.name]\n", "routes = [{ cidr = \"10.128.0.0/14\", via = \"10.50.0.11\" }]\n"
	s := acctest.NewState(t)
	s.DestroyAtEnd()

	// A network of IPv6 alone is not translated, and so snat is what was written.
	s.Apply(personsConfig("", "networks = [virtcluster_ovn_network.six.name]\n snat = true"))
	s.Settled()
	s.Apply(personsConfig("", "networks = [virtcluster_ovn_network.nodes.name, virtcluster_ovn_network.six.name]\n snat = true"))
	s.Settled()
	s.Apply(personsConfig(dmz, nodes))
	s.Settled()

	// What a person adds, by the very names and values that are the provider's.
	nb("lrp-add", "lab", "lab-persons", "0a:00:00:00:00:97", "10.97.0.1/24")
	nb("lrp-add", "lab", "lab-dmz", "0a:00:00:00:00:98", "10.51.0.1/24")
	nb("lr-nat-add", "lab", "snat", "10.19.41.200", "10.50.0.0/24")
	nb("lr-route-add", "lab", "10.140.0.0/14", "10.50.0.13")
	stays := func() {
		t.Helper()
		for what, shown := range map[string]string{"lab-dmz": nb("lrp-list", "lab"), "lab-persons": nb("lrp-list", "lab"), "10.50.0.0/24": nb("lr-nat-list", "lab"), "10.140.0.0/14": nb("lr-route-list", "lab")} {
			t.Run(what, func(t *testing.T) {
				if !strings.Contains(shown, what) {
					t.Errorf("a person's is gone: %s", shown)
				}
			})
		}
	}
	s.Settled()
	s.Apply(personsConfig(dmz, nodes+routes))
	s.Settled()
	stays()
	routed := strings.Replace(personsConfig(dmz, nodes+routes), `gateway = "10.50.0.1"`, `gateway = "10.50.0.1"`+"\n  mode = \"route\"", 1)
	s.Apply(routed)
	s.Settled()
	stays()
	s.Apply(personsConfig(dmz, nodes+routes))
	stays()
	for said, config := range map[string]string{
		`translate so already`:                        personsConfig(dmz, nodes+routes+"snat = true"),
		`a port "lab-dmz"`:                            personsConfig(dmz, both+routes),
		`lead to 10.140.0.0/14 by 10.50.0.13 already`: personsConfig(dmz, nodes+"routes = [{ cidr = \"10.140.0.0/14\", via = \"10.50.0.13\" }]"),
	} {
		t.Run(said, func(t *testing.T) {
			s.Write(config)
			s.For(t).Refused([]string{said}, "plan")
		})
	}
	s.Write(personsConfig(dmz, nodes+routes))
	s.Refused([]string{"not its own"}, "destroy", "-auto-approve")
	s.Apply(personsConfig(dmz, nodes+routes))
	stays()
	nb("lrp-del", "lab-dmz", "--", "lrp-del", "lab-persons", "--", "lr-nat-del", "lab", "snat", "10.50.0.0/24", "--", "lr-route-del", "lab", "10.140.0.0/14")

	// OVN's failover that somebody has set is not taken.
	nb("set", "NB_Global", ".", "options:bfd-min-rx=300")
	s.Write(personsConfig(dmz, both+"failover = { interval_ms = 200, multiplier = 3 }"))
	s.Refused([]string{"somebody has set OVN's failover already"}, "plan")
	nb("remove", "NB_Global", ".", "options", "bfd-min-rx")
	s.Apply(personsConfig(dmz, both+"snat = true\nfailover = { interval_ms = 200, multiplier = 3 }"))
	s.Settled()

	// What somebody removes: a network, one row of two that translate, the router.
	nb("ls-del", "dmz")
	s.Apply(personsConfig("", nodes+"snat = true"))
	s.Settled()
	if shown := nb("lr-nat-list", "lab") + nb("lrp-list", "lab"); strings.Contains(shown, "10.51.0.") || strings.Contains(shown, "lab-dmz") {
		t.Errorf("of the network that somebody removed there is %s", shown)
	}
	s.Apply(personsConfig(dmz, both+"snat = true\nfailover = { interval_ms = 200, multiplier = 3 }"))
	nb("lr-nat-del", "lab", "snat", "10.51.0.0/24")
	s.Run("destroy", "-auto-approve")
	s.Apply(personsConfig(dmz, both+"snat = true\nfailover = { interval_ms = 200, multiplier = 3 }"))
	nb("lr-del", "lab")
	s.Apply(personsConfig(dmz, both+"snat = true\nfailover = { interval_ms = 200, multiplier = 3 }"))
	s.Settled()
	nb("lr-del", "lab", "--", "ls-del", "dmz")
	s.Run("destroy", "-auto-approve")
	for what, shown := range map[string]string{
		"networks": nb("ls-list"), "DHCP options": nb("dhcp-options-list"), "groups of chassis": nb("--bare", "--columns=name", "list", "HA_Chassis_Group"),
	} {
		t.Run(what, func(t *testing.T) {
			if shown != "" {
				t.Errorf("what somebody removed by half has left %s", shown)
			}
		})
	}
}
