package floatingaddress_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// TestAccAddressThatAnotherMachineTakesAtTheSameTimeIsGivenUp has another machine answer for an address from the moment on at which nobody was found
// to have it: it says nothing to the first who asks, which is the card of the machine itself.
func TestAccAddressThatAnotherMachineTakesAtTheSameTimeIsGivenUp(t *testing.T) {
	acctest.InSandbox(t)
	nodes := acctest.ServiceNodes(t, 2)
	provider := acctest.Provider() + fmt.Sprintf(`
resource "virtcluster_service_node" "edge" {
  endpoint = "ssh://root@%s"
  services = ["nftables"]
}
`, nodes[0])
	for name, of := range map[string]struct{ address, config string }{
		"floating address": {"10.19.41.226", `
resource "virtcluster_floating_address" "one" {
  service_node = virtcluster_service_node.edge.id
  address      = "10.19.41.226"
  target       = "10.0.100.102"
  ports        = { ssh = { port = 22 } }
}
`},
		"bridge": {"10.19.41.227", `
resource "virtcluster_external_bridge" "one" {
  host       = virtcluster_service_node.edge.id
  name       = "accbr1"
  interfaces = [{ interface = "eth1" }]
  addresses  = ["10.19.41.227/24"]
}
`},
	} {
		t.Run(name, func(t *testing.T) {
			silent := "nft 'table arp accsilent { chain in { type filter hook input priority 0; arp saddr ether " +
				strings.TrimSpace(acctest.On(t, "svc-1", "sh", "-c", "ip link show eth1 | awk '/ether/ { print $2 }'")) + " drop; }; }'"
			acctest.On(t, "svc-2", "sh", "-ec", "ip address add "+of.address+"/32 dev eth1; "+silent)
			// Who has it already is the one whom its neighbours know, all the time.
			known := func() string {
				return acctest.On(t, "lan-client", "sh", "-c", "ip neigh show to "+of.address+" | sed -n 's/.* lladdr \\([^ ]*\\).*/\\1/p'")
			}
			acctest.On(t, "lan-client", "ping", "-n", "-c", "1", "-W", "2", of.address)
			owner := known()
			giveUp := func() {
				_, _ = acctest.Try(context.Background(), "svc-2", "sh", "-c", "ip address del "+of.address+"/32 dev eth1; nft delete table arp accsilent")
			}
			t.Cleanup(giveUp)
			s := acctest.NewState(t)
			s.DestroyAtEnd()
			s.Write(provider + of.config)
			s.Refused([]string{of.address + " is in use: the machine with the hardware address"}, "apply", "-auto-approve")
			if got := acctest.On(t, "svc-1", "ip", "-o", "address", "show", "to", of.address); strings.TrimSpace(got) != "" {
				t.Errorf("svc-1 has it still: %s", got)
			}
			acctest.On(t, "svc-2", "ip", "address", "show", "to", of.address)
			if now := known(); now != owner || owner == "" {
				t.Errorf("a neighbour takes %q for the machine with the address, and it is %q", now, owner)
			}
			giveUp()
			s.Apply(provider + of.config)
			s.Settled()
			if got := acctest.On(t, "svc-1", "ip", "-o", "address", "show", "to", of.address); !strings.Contains(got, of.address) {
				t.Errorf("svc-1 has it not: %q", got)
			}
		})
	}
}
