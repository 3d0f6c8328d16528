package servicenode_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// everything is a configuration of all that names a service node; keys are their host_key attributes.
func everything(t *testing.T, keys ...string) string {
	t.Helper()
	config := acctest.Provider()
	for i, address := range acctest.ServiceNodes(t, 2) {
		config += fmt.Sprintf(`
resource "virtcluster_service_node" "node%d" {
  endpoint = "ssh://root@%s"
  services = ["bind", "haproxy", "keepalived"]
  %s
}
`, i+1, address, keys[i])
	}
	return config + `
resource "virtcluster_dns_server" "test" {
  service_node = virtcluster_service_node.node1.id
  allow_query  = ["any"]
}
resource "virtcluster_dns_view" "test" {
  service_node  = virtcluster_dns_server.test.service_node
  name          = "inside"
  match_clients = ["any"]
}
resource "virtcluster_dns_zone" "test" {
  service_node = virtcluster_dns_view.test.service_node
  view         = virtcluster_dns_view.test.name
  name         = "plan.example"
  records      = { www = { A = ["192.0.2.1"] } }
}
resource "virtcluster_dns_record_set" "test" {
  service_node = virtcluster_dns_zone.test.service_node
  view         = virtcluster_dns_zone.test.view
  zone         = virtcluster_dns_zone.test.name
  name         = "api"
  type         = "A"
  values       = ["192.0.2.2"]
}
resource "virtcluster_haproxy" "test" {
  service_node = virtcluster_service_node.node1.id
}
resource "virtcluster_haproxy_backend" "test" {
  service_node = virtcluster_haproxy.test.service_node
  name         = "plan"
  mode         = "tcp"
  servers      = { one = { address = "10.0.100.254", port = 6443 } }
}
resource "virtcluster_haproxy_frontend" "test" {
  service_node    = virtcluster_haproxy.test.service_node
  name            = "plan"
  mode            = "tcp"
  binds           = [{ address = "127.0.0.1", port = 16443 }]
  default_backend = virtcluster_haproxy_backend.test.name
}
resource "virtcluster_vip" "test" {
  name      = "plan"
  addresses = ["10.0.100.240/24"]
  members = {
    one = { service_node = virtcluster_service_node.node1.id, interface = "eth0", address = "10.0.100.101" }
    two = { service_node = virtcluster_service_node.node2.id, interface = "eth0", address = "10.0.100.102" }
  }
}
resource "virtcluster_hosts_file" "test" {
  host    = virtcluster_service_node.node1.id
  name    = "plan"
  entries = { "192.0.2.1" = ["www.plan.example"] }
}
resource "virtcluster_route" "test" {
  host   = virtcluster_service_node.node1.id
  cidr   = "198.51.100.0/24"
  via    = "10.0.100.254"
  backend = "runtime"
}
resource "virtcluster_external_bridge" "test" {
  host       = virtcluster_service_node.node1.id
  name       = "planbr0"
  interfaces = [{ interface = "eth1" }]
  backend    = "runtime"
}
resource "virtcluster_pod_network" "test" {
  cidr        = "10.136.0.0/14"
  host_prefix = 23
  nodes       = { n1 = "10.0.100.101", n2 = "10.0.100.102" }
}
resource "virtcluster_address_pool" "test" {
  service_node = virtcluster_service_node.node1.id
  name         = "plan"
  ranges       = ["10.0.100.231-10.0.100.239"]
}
resource "virtcluster_address" "test" {
  pool = virtcluster_address_pool.test.id
  key  = "plan"
}
`
}

// unknown lists what a plan shows as known after apply, below the addresses of its resources.
func unknown(t *testing.T, s *acctest.State) map[string][]string {
	t.Helper()
	s.Run("plan", "-out=saved")
	var plan struct {
		Changes []struct {
			Address string
			Change  struct {
				Unknown any `json:"after_unknown"`
			}
		} `json:"resource_changes"`
	}
	if err := json.Unmarshal([]byte(s.Run("show", "-json", "saved")), &plan); err != nil {
		t.Fatal(err)
	}
	all := map[string][]string{}
	var walk func(address, at string, v any)
	walk = func(address, at string, v any) {
		switch v := v.(type) {
		case bool:
			if v {
				all[address] = append(all[address], strings.TrimPrefix(at, "."))
			}
		case []any:
			for i := range v {
				walk(address, fmt.Sprintf("%s[%d]", at, i), v[i])
			}
		case map[string]any:
			for _, name := range slices.Sorted(maps.Keys(v)) {
				walk(address, at+"."+name, v[name])
			}
		}
	}
	for _, c := range plan.Changes {
		all[c.Address] = nil
		walk(c.Address, "", c.Change.Unknown)
	}
	return all
}

func TestAccWithItsHostKeyAllOfAServiceNodeIsKnownWhilePlanning(t *testing.T) {
	acctest.BothCLIs(t)
	acctest.InSandbox(t)
	fingerprint, _ := hostKey(t, "svc-1")
	_, public := hostKey(t, "svc-2")
	s := acctest.NewState(t)
	s.DestroyAtEnd()
	s.Write(everything(t, fmt.Sprintf("host_key = %q", fingerprint), fmt.Sprintf("host_key = %q", public)))
	node := []string{"os", "versions"} // what only the machine can tell
	want := map[string][]string{
		"virtcluster_service_node.node1": node, "virtcluster_service_node.node2": node,
		"virtcluster_dns_server.test": nil, "virtcluster_dns_view.test": nil, "virtcluster_dns_zone.test": {"serial"}, "virtcluster_dns_record_set.test": nil,
		"virtcluster_haproxy.test": nil, "virtcluster_haproxy_backend.test": nil, "virtcluster_haproxy_frontend.test": nil,
		"virtcluster_vip.test":        {"id", "owner"},
		"virtcluster_hosts_file.test": nil, "virtcluster_route.test": {"active_backend", "device"},
		"virtcluster_external_bridge.test": {"active_addresses", "active_backend"}, "virtcluster_pod_network.test": {"id"},
		"virtcluster_address_pool.test": nil, "virtcluster_address.test": {"ip"},
	}
	if diff := cmp.Diff(want, unknown(t, s)); diff != "" {
		t.Errorf("known after apply (-want +got):\n%s", diff)
	}
	s.Run("apply", "saved")
	s.Settled()

	// An id may be written with all of the host key's fingerprint, in percent codes, in a configuration and in an import.
	long := "ssh://root@" + acctest.ServiceNodes(t, 1)[0] + "?host_key=" + strings.NewReplacer(":", "%3A", "+", "%2B", "/", "%2F").Replace(fingerprint)
	keys := []string{fmt.Sprintf("host_key = %q", fingerprint), fmt.Sprintf("host_key = %q", public)}
	written := strings.NewReplacer("virtcluster_service_node.node1.id", fmt.Sprintf("%q", long), "virtcluster_address_pool.test.id", fmt.Sprintf("%q", long+"#plan"))
	s.Write(written.Replace(everything(t, keys...)))
	s.Settled()
	for address, part := range map[string]string{
		"virtcluster_dns_server.test": "server", "virtcluster_dns_view.test": "inside", "virtcluster_dns_zone.test": "inside/plan.example",
		"virtcluster_dns_record_set.test": "inside/plan.example/api/A", "virtcluster_haproxy.test": "haproxy", "virtcluster_haproxy_backend.test": "backend/plan",
		"virtcluster_haproxy_frontend.test": "frontend/plan", "virtcluster_hosts_file.test": "plan", "virtcluster_route.test": "198.51.100.0/24",
		"virtcluster_external_bridge.test": "planbr0", "virtcluster_address_pool.test": "plan", "virtcluster_address.test": "plan/plan",
	} {
		s.Run("state", "rm", address)
		s.Run("import", address, long+"#"+part)
	}
	s.Write(everything(t, keys...))
	s.Settled()
}

// A machine that the same apply makes is in the plan with all that follows from its host key, and nobody waits for it there.
func TestAccAMachineThatIsStillToBeMadeIsPlannedByItsHostKey(t *testing.T) {
	acctest.InSandbox(t)
	fingerprint, _ := hostKey(t, "svc-1")
	key := fmt.Sprintf("host_key = %q", fingerprint)
	s := acctest.NewState(t)
	absent := strings.NewReplacer(acctest.ServiceNodes(t, 1)[0], "10.0.100.250").Replace(everything(t, key, key))
	s.Write(absent)
	began := time.Now()
	got := unknown(t, s)
	if took := time.Since(began); len(got) != 16 || took > 8*time.Second { // a connection's time is 10 s
		t.Errorf("the plan of %d resources took %s", len(got), took)
	}
	// What reads from it waits for that by itself.
	s.Write(absent + "\ndata \"virtcluster_haproxy_status\" \"test\" {\n  service_node = virtcluster_service_node.node1.id\n}\n")
	s.Run("plan")
}
