package address_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// TestAccWhatIsInUseIsNotGivenOut has a machine of nobody's, two exposures of one name on two machines, and a pool whose ledger is lost:
// none of their addresses is drawn for anything else.
func TestAccWhatIsInUseIsNotGivenOut(t *testing.T) {
	acctest.InSandbox(t)
	nodes := acctest.KnownServiceNodes(t, 2)
	const ledger = "/var/lib/virtcluster/addresspool/pools/lan.json"
	acctest.On(t, "hypervisor", "ip", "netns", "exec", "lan-client", "ip", "address", "add", "10.19.41.230/24", "dev", "eth0")
	t.Cleanup(func() {
		_, _ = acctest.Try(context.Background(), "hypervisor", "ip", "netns", "exec", "lan-client", "ip", "address", "del", "10.19.41.230/24", "dev", "eth0")
	})
	config := func(last int, pool, more string) string {
		return acctest.Provider() + fmt.Sprintf(`
resource "virtcluster_service_node" "edge" {
  for_each = { one = "ssh://root@%[1]s", two = "ssh://root@%[2]s" }
  endpoint = each.value
  services = ["nftables"]
}
resource "virtcluster_address_pool" "each" {
  for_each     = { lan = "10.19.41.230-10.19.41.%[3]d", other = "10.19.41.240-10.19.41.241" }
  service_node = virtcluster_service_node.edge["one"].id
  name         = each.key
  ranges       = [each.value]
}
resource "virtcluster_exposed_service" "https" {
  for_each          = virtcluster_service_node.edge
  service_node      = each.value.id
  name              = "https"
  type              = "external_ip"
  pool              = virtcluster_address_pool.each[each.key == "one" ? %[4]q : "lan"].id
  configure_address = true
  ports             = { ssh = { port = 22 } }
  targets           = ["10.0.100.51"]
}
output "addresses" { value = [for e in virtcluster_exposed_service.https : e.address] }
%[5]s`, nodes[0], nodes[1], last, pool, more)
	}
	const another = `
resource "virtcluster_address" "another" {
  pool = virtcluster_address_pool.each["lan"].id
  key  = "another"
}
output "another" { value = virtcluster_address.another.ip }
`
	s := acctest.NewState(t)
	s.DestroyAtEnd()
	addresses := func() (all []string) {
		t.Helper()
		if err := json.Unmarshal([]byte(s.Run("output", "-json", "addresses")), &all); err != nil {
			t.Fatal(err)
		}
		slices.Sort(all)
		return all
	}
	s.Write(config(233, "lan", ""))
	if out := s.Run("apply", "-auto-approve"); !strings.Contains(out, "Addresses of the pool are in use") {
		t.Errorf("the apply does not say that it skipped what somebody has:\n%s", out)
	}
	s.Settled()
	if got := addresses(); !slices.Equal(got, []string{"10.19.41.231", "10.19.41.232"}) {
		t.Fatalf("the exposures of one name have %v", got)
	}
	if text := acctest.On(t, "svc-1", "cat", ledger); !strings.Contains(text, `"10.19.41.230": "the machine with the hardware address`) {
		t.Errorf("the ledger does not say what was skipped:\n%s", text)
	}

	acctest.On(t, "svc-1", "rm", "-r", "/var/lib/virtcluster/addresspool")
	if out := s.Run("plan"); !strings.Contains(out, "Pool does not know of the address") || strings.Count(out, "serving") != 2 {
		t.Errorf("the plan does not say that the pool knows nothing of two exposures:\n%s", out)
	}
	s.Apply(config(233, "lan", another))
	s.Settled()
	if got := s.Run("output", "-raw", "another"); got != "10.19.41.233" {
		t.Errorf("a pool that was lost gave out %s", got)
	}
	if got, text := addresses(), acctest.On(t, "svc-1", "cat", ledger); !slices.Equal(got, []string{"10.19.41.231", "10.19.41.232"}) || !strings.Contains(text, `"ip": "10.19.41.231"`) || !strings.Contains(text, `"ip": "10.19.41.232"`) {
		t.Errorf("the exposures have %v, and the ledger is\n%s", got, text)
	}

	s.Write(config(232, "lan", another))
	s.Refused([]string{"Pool leaves out what is drawn", `10.19.41.233 is drawn for key "another" by workspace`, "on main.tf"}, "plan")

	// What replaces an exposure draws from another pool, and the old one's address is given back.
	s.Apply(config(233, "other", another))
	s.Settled()
	if got, text := addresses(), acctest.On(t, "svc-1", "cat", ledger); got[1] != "10.19.41.240" || strings.Contains(text, `@`+nodes[0]+`#https": {`) {
		t.Errorf("the exposures have %v, and the ledger of the pool that one left is\n%s", got, text)
	}
	s.Run("destroy", "-auto-approve")
	if left, err := acctest.Try(t.Context(), "svc-1", "find", "/var/lib/virtcluster/addresspool"); err == nil {
		t.Errorf("left: %s", left)
	}
}

// TestAccAVIPHasTheAddressThatIsDrawnForIt makes a pool, draws from it, and has a VIP at what was drawn, in one apply: of the pool's choice,
// and by its name.
func TestAccAVIPHasTheAddressThatIsDrawnForIt(t *testing.T) {
	acctest.InSandbox(t)
	node := acctest.KnownServiceNodes(t, 1)[0]
	// With its host key the machine's id is known while planning, and with it what else is on the machine.
	key := strings.Join(strings.Fields(acctest.On(t, "svc-1", "cat", "/etc/ssh/ssh_host_ed25519_key.pub"))[:2], " ")
	for name, ip := range map[string]string{"chosen": "null", "named": `"10.0.100.185"`} {
		t.Run(name, func(t *testing.T) {
			s := acctest.NewState(t)
			s.DestroyAtEnd()
			config := func(vip string) string {
				return acctest.Provider() + fmt.Sprintf(`
resource "virtcluster_service_node" "s" {
  endpoint = "ssh://root@%s"
  host_key = %q
  services = ["keepalived"]
}
resource "virtcluster_address_pool" "p" {
  service_node = virtcluster_service_node.s.id
  name         = "drawn"
  ranges       = ["10.0.100.180-10.0.100.189"]
}
resource "virtcluster_address" "a" {
  pool = virtcluster_address_pool.p.id
  key  = "okd/api"
  ip   = %s
}
resource "virtcluster_vip" "v" {
  name      = "drawn"
  addresses = [%s]
  members   = { svc-1 = { service_node = virtcluster_service_node.s.id, interface = "eth0", address = %q } }
}
output "ip" { value = virtcluster_address.a.ip }
`, node, key, ip, vip, node)
			}
			s.Write(config(`"10.0.100.188/24"`))
			s.Refused([]string{"10.0.100.188"}, "plan") // which nothing draws
			s.Apply(config(`"${virtcluster_address.a.ip}/24"`))
			s.Settled()
			drawn := s.Run("output", "-raw", "ip")
			acctest.Eventually(t, "the machine has what was drawn", func() bool {
				return strings.Contains(acctest.On(t, "svc-1", "ip", "-br", "address", "show", "eth0"), drawn+"/24")
			})
			s.Settled()
		})
	}
}
