package provider

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The types that the first states have. Those that came later have no state of a version before.
var firstTypes = []string{
	"dhcp_reservation", "dns_record_set", "dns_server", "dns_view", "dns_zone", "external_bridge", "haproxy", "haproxy_backend", "haproxy_frontend",
	"service_node", "network", "node", "storage_pool", "volume", "image", "vip",
}

// A state of the version before plans empty: acceptance tests restore the files below testdata, in which every type has an object.
func TestEveryTypeHasAStateOfTheVersionBefore(t *testing.T) {
	held := map[string]bool{}
	for _, pattern := range []string{"../resources/*/testdata/before.tfstate", "../resources/*/testdata/before/state.json"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var state struct {
				Resources []struct {
					Type      string
					Instances []any
				}
			}
			if err := json.Unmarshal(text, &state); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			for _, r := range state.Resources {
				held[strings.TrimPrefix(r.Type, "virtcluster_")] = len(r.Instances) > 0
			}
		}
	}
	for _, name := range firstTypes {
		if !held[name] {
			t.Errorf("no state of the version before has a virtcluster_%s", name)
		}
	}
}
