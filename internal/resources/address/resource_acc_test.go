package address_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// keeper is the machine that keeps the pools.
func keeper(t *testing.T) string {
	node := acctest.KnownServiceNodes(t, 1)[0]
	return "ssh://root@" + node
}

func pool(host, ranges string) string {
	return fmt.Sprintf(`
resource "virtcluster_address_pool" "lan" {
  service_node = %q
  name         = "lan"
  ranges       = [%s]
}
`, host, ranges)
}

func address(key, more string) string {
	return fmt.Sprintf(`
resource "virtcluster_address" %[1]q {
  pool = virtcluster_address_pool.lan.id
  key  = %[1]q
  %[2]s
}
`, key, more)
}

func TestAccAddressLife(t *testing.T) {
	acctest.BothCLIs(t)
	acctest.InSandbox(t)
	host := keeper(t)
	is := func(key, ip string) resource.TestCheckFunc {
		return resource.TestCheckResourceAttr("virtcluster_address."+key, "ip", ip)
	}
	config := func(parts ...string) string { return acctest.Provider() + strings.Join(parts, "") }
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		CheckDestroy: func(*terraform.State) error {
			if left, err := acctest.Try(t.Context(), "svc-1", "find", "/var/lib/virtcluster/addresspool"); err == nil {
				return fmt.Errorf("left: %s", left)
			}
			return nil
		},
		Steps: []resource.TestStep{
			{Config: config(pool(host, `"10.19.41.9-10.19.41.5"`)), PlanOnly: true, ExpectError: regexp.MustCompile("Invalid range")},
			{Config: config(pool(host, `"10.19.41.0/28", "10.19.41.7"`)), PlanOnly: true, ExpectError: regexp.MustCompile("Overlapping ranges")},
			{Config: config(pool(host, `"10.19.41.5"`), address("api", `ip = "10.19.41.x"`)), PlanOnly: true, ExpectError: regexp.MustCompile("Invalid address")},
			{Config: config(pool(host, `"10.19.41.110-10.19.41.112"`), address("api", "")), Check: is("api", "10.19.41.110")},
			{Config: config(pool(host, `"10.19.41.110 - 10.19.41.112"`), address("api", "")), PlanOnly: true},
			{Config: config(pool(host, `"10.19.41.110-10.19.41.112"`), address("api", ""), address("web", `ip = "10.19.41.112"`)), Check: is("web", "10.19.41.112")},
			{ResourceName: "virtcluster_address.web", ImportState: true, ImportStateVerify: true},
			{ResourceName: "virtcluster_address_pool.lan", ImportState: true, ImportStateVerify: true},
			// What a key had it has again, although another would be the lowest.
			{Config: config(pool(host, `"10.19.41.110-10.19.41.113"`), address("web", ""))},
			{Config: config(pool(host, `"10.19.41.110-10.19.41.113"`), address("web", ""), address("api", ""), address("third", "")), Check: resource.ComposeTestCheckFunc(is("api", "10.19.41.110"), is("third", "10.19.41.111"))},
			{Config: config(pool(host, `"10.19.41.111-10.19.41.113"`), address("web", ""), address("api", ""), address("third", "")), ExpectError: regexp.MustCompile(`(?s)10.19.41.110 is drawn\s+for key\s+"api"`)},
			{
				PreConfig: func() {
					acctest.On(t, "svc-1", "sed", "-i", `/"third": {/,/}/d; s/^    },$/    }/`, "/var/lib/virtcluster/addresspool/pools/lan.json")
					acctest.On(t, "svc-1", "sh", "-c", `perl -0pi -e 's/\}\n(\s+")/},\n$1/g; s/\},(\s*\n\s*\})/}$1/g' /var/lib/virtcluster/addresspool/pools/lan.json`)
				},
				Config: config(pool(host, `"10.19.41.110-10.19.41.113"`), address("web", ""), address("api", ""), address("third", "")), Check: is("third", "10.19.41.111"),
			},
		},
	})
}

func TestAccStatesDrawFromOnePool(t *testing.T) {
	acctest.InSandbox(t)
	host := keeper(t)
	own, one, two := acctest.NewState(t), acctest.NewState(t), acctest.NewState(t)
	own.DestroyAtEnd()
	own.Apply(acctest.Provider() + pool(host, `"10.183.0.0/26", "10.183.1.0-10.183.1.35"`))
	draws := func(key string, count int) string {
		return acctest.Provider() + fmt.Sprintf(`
resource "virtcluster_address" "each" {
  count = %d
  pool  = "%s#lan"
  key   = "%s/${count.index}"
}
output "addresses" { value = virtcluster_address.each[*].ip }
`, count, host, key)
	}
	one.Write(draws("one", 50))
	two.Write(draws("two", 50))
	first, second := one.Start("apply", "-auto-approve"), two.Start("apply", "-auto-approve")
	for _, r := range []*acctest.Command{first, second} {
		if err := r.Wait(); err != nil {
			t.Fatalf("two states draw at once: %v\n%s", err, r.Out.String())
		}
	}
	seen := map[string]bool{}
	for _, s := range []*acctest.State{one, two} {
		var addresses []string
		if err := json.Unmarshal([]byte(s.Run("output", "-json", "addresses")), &addresses); err != nil {
			t.Fatal(err)
		}
		for _, a := range addresses {
			if seen[a] {
				t.Errorf("%s is drawn twice", a)
			}
			seen[a] = true
		}
		s.Settled()
	}
	if len(seen) != 100 {
		t.Errorf("%d addresses are drawn", len(seen))
	}

	// One more than there are says who has them; what another has is not taken, nor is the pool that others draw from removed.
	third := acctest.NewState(t)
	third.Write(draws("three", 1))
	third.Refused([]string{"no address left: all 100", "50 by workspace"}, "apply", "-auto-approve")
	third.Write(draws("one", 1))
	third.Refused([]string{`address for "one/0" is in`, "belongs to another state"}, "apply", "-auto-approve")
	third.Write(acctest.Provider() + strings.Replace(pool(host, `"10.183.1.200", "10.183.1.30-10.183.1.40"`), `name         = "lan"`, `name         = "edge"`, 1))
	third.Refused([]string{"Pools overlap", `10.183.1.30-10.183.1.40 overlaps 10.183.1.0-10.183.1.35 of pool "lan" (owner=`, "on main.tf"}, "plan")
	own.Refused([]string{"addresses of it are drawn", "50 by workspace"}, "destroy", "-auto-approve")
	one.Run("destroy", "-auto-approve")
	two.Settled()
	two.Run("destroy", "-auto-approve")
}

func TestAccPoolApartFromDHCP(t *testing.T) {
	acctest.InSandbox(t)
	const host = "local:" // the hypervisor keeps the pool
	network := `
resource "virtcluster_network" "pooled" {
  name = "pooled"
  mode = "isolated"
  cidr = "10.72.0.0/24"
  dhcp = { ranges = [{ start = "10.72.0.100", end = "10.72.0.120" }] }
}
resource "virtcluster_dhcp_reservation" "kept" {
  network = virtcluster_network.pooled.name
  mac     = "52:54:00:78:00:01"
  ip      = "10.72.0.50"
}
`
	other := strings.NewReplacer(`"lan" {`, `"other" {`, `= "lan"`, `= "other"`).Replace(pool(host, `"10.72.0.9-10.72.0.12"`))
	refused := regexp.MustCompile("Pool overlaps DHCP|Virtual address in a DHCP range")
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			{Config: acctest.Provider() + network + pool(host, `"10.72.0.90-10.72.0.100"`), PlanOnly: true, ExpectError: refused},
			{Config: acctest.Provider() + network + pool(host, `"10.72.0.2-10.72.0.9"`) + other, PlanOnly: true, ExpectError: regexp.MustCompile(`(?s)Pools\s+overlap.*of\s+address\s+pool`)},
			{Config: acctest.Provider() + network},
			{Config: acctest.Provider() + network + pool(host, `"10.72.0.40-10.72.0.60"`), PlanOnly: true, ExpectError: regexp.MustCompile(`(?s)keeps\s+10.72.0.50\s+for`)},
			{Config: acctest.Provider() + network + pool(host, `"10.72.0.2-10.72.0.9"`)},
		},
	})
}
