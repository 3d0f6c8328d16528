package faults

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// TestAccFiveHundredRuleSetsAreReadBack exposes five hundred services at random on one machine, changes every one at random, and has no
// plan find anything else than what was written.
func TestAccFiveHundredRuleSetsAreReadBack(t *testing.T) {
	acctest.InSandbox(t)
	node := acctest.KnownServiceNodes(t, 1)[0]
	s := acctest.NewState(t)
	s.DestroyAtEnd()
	const sets, seed = 500, 19
	random := rand.New(rand.NewPCG(seed, seed))
	draw := func() {
		all := map[string]any{}
		for i := range sets {
			set := map[string]any{"targets": []string{fmt.Sprintf("10.0.100.%d", 150+random.IntN(50))}}
			ports := map[string]any{}
			for p := range 1 + random.IntN(3) {
				port := map[string]any{"port": 30000 + 4*i + p, "target_port": 1 + random.IntN(65535), "protocol": []string{"tcp", "udp"}[random.IntN(2)]}
				ports[fmt.Sprintf("p%d", p)] = port
			}
			set["ports"] = ports
			if random.IntN(2) == 0 {
				ranges := make([]string, 1+random.IntN(3))
				for r := range ranges {
					ranges[r] = fmt.Sprintf("10.%d.%d.0/24", r, random.IntN(256))
				}
				set["source_ranges"] = ranges
			}
			// Of every ten: six ports of all addresses, and four of the machine's own.
			if set["type"] = "node_port"; i%10 >= 6 {
				set["type"], set["address"] = "external_ip", "10.19.41.101"
			}
			all[fmt.Sprintf("s%03d", i)] = set
		}
		text, err := json.Marshal(all)
		if err == nil {
			err = os.WriteFile(filepath.Join(s.Dir, "sets.json"), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	config := acctest.Provider() + fmt.Sprintf(`
locals { sets = jsondecode(file("sets.json")) }
resource "virtcluster_service_node" "edge" {
  endpoint = "ssh://root@%s"
  services = ["nftables"]
}
resource "virtcluster_exposed_service" "all" {
  for_each      = local.sets
  service_node  = virtcluster_service_node.edge.id
  name          = each.key
  type          = each.value.type
  address       = try(each.value.address, null)
  ports         = each.value.ports
  targets       = each.value.targets
  source_ranges = try(each.value.source_ranges, null)
}
`, node)
	for _, what := range []string{"made", "changed"} {
		draw()
		began := time.Now()
		s.Apply(config)
		applied := time.Since(began)
		began = time.Now()
		s.Settled()
		t.Logf("%d %s in %s, planned again in %s", sets, what, applied.Round(time.Second), time.Since(began).Round(time.Second))
	}
	if out := acctest.On(t, "svc-1", "sh", "-c", "nft list table inet virtcluster"); strings.Count(out, "dnat") < sets {
		t.Errorf("fewer than %d translations:\n%s", sets, out)
	}
	s.Run("destroy", "-auto-approve")
	if out := acctest.On(t, "svc-1", "sh", "-c", "nft list tables"); strings.Contains(out, "virtcluster") {
		t.Errorf("after the destroy:\n%s", out)
	}
}
