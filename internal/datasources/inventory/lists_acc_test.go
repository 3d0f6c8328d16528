package inventory_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// writeLists makes the list blocks of a state's directory: one for each type, with what config says, and all of each object.
func writeLists(t *testing.T, s *acctest.State, config string, types ...string) {
	t.Helper()
	writeListsWith(t, s, "include_resource = true", config, types...)
}

// writeListsWith does so with an argument of the list blocks themselves.
func writeListsWith(t *testing.T, s *acctest.State, argument, config string, types ...string) {
	t.Helper()
	var blocks strings.Builder
	for _, kind := range types {
		place := "service_node"
		if kind == "hosts_file" {
			place = "host"
		}
		config := strings.ReplaceAll(config, "PLACE", place)
		if kind == "address" {
			config = regexp.MustCompile(`service_node = ("[^"]*")`).ReplaceAllString(config, "service_nodes = [$1]")
		}
		fmt.Fprintf(&blocks, "list \"virtcluster_%s\" \"all\" {\n  provider = virtcluster\n  %s\n  config {\n    %s\n  }\n}\n", kind, argument, config)
	}
	if err := os.WriteFile(filepath.Join(s.Dir, "all.tfquery.hcl"), []byte(blocks.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}

// wantImports wants that what Terraform generated plans nothing but imports, and that it is settled once they are applied.
func wantImports(t *testing.T, s *acctest.State, imports int) {
	t.Helper()
	if plan := s.Run("plan"); !strings.Contains(plan, fmt.Sprintf("Plan: %d to import, 0 to add, 0 to change, 0 to destroy.", imports)) {
		text, _ := os.ReadFile(filepath.Join(s.Dir, "generated.tf"))
		t.Errorf("what was generated plans:\n%s\n%s", plan, text)
	}
	s.Run("apply", "-auto-approve")
	s.Settled()
}

// nfsServer stands in for the unit of an NFS server, which the sandbox's kernel has none of: the files and exportfs' table are real.
const nfsServer = `set -e
printf '[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=/bin/true\n' >/etc/systemd/system/nfs-server.service
systemctl daemon-reload
systemctl start nfs-server`

const nfsServerBefore = `systemctl stop nfs-server; rm /etc/systemd/system/nfs-server.service; systemctl daemon-reload; rm -rf /srv/share`

// servedTypes are the types of what a service node has in this test, each once.
var servedTypes = []string{"address_pool", "address", "exposed_service", "floating_address", "registry", "dhcp_server", "http_content", "hosts_file", "dns_server", "dns_view", "dns_zone", "dns_record_set", "haproxy", "nfs_export", "time_server", "boot_server"}

// What a state had on a machine is listed when that state is lost, and taken back by what Terraform generates of it.
func TestAccListsOfAServiceNode(t *testing.T) {
	acctest.InSandbox(t)
	address := acctest.KnownServiceNodes(t, 2)[0]
	endpoint := acctest.Endpoint("svc-1")
	byHandOn(t, "svc-1", nfsServer, nfsServerBefore)
	node := acctest.Provider() + fmt.Sprintf(`
resource "virtcluster_service_node" "it" {
  endpoint = %q
  services = ["bind", "nftables", "registry", "kea", "haproxy", "chrony", "ipxe"]
}
`, endpoint)
	s := acctest.NewStateWithActions(t)
	s.DestroyAtEnd()
	s.Apply(node + fmt.Sprintf(`
locals { node = virtcluster_service_node.it.id }
resource "virtcluster_address_pool" "it" {
  service_node = local.node
  name         = "outside"
  ranges       = ["10.19.41.210-10.19.41.219"]
}
resource "virtcluster_address" "it" {
  pool = virtcluster_address_pool.it.id
  key  = "okd/api"
}
resource "virtcluster_exposed_service" "it" {
  service_node = local.node
  name         = "web"
  type         = "node_port"
  ports        = { http = { target_port = 8080 } }
  targets      = ["10.0.100.102"]
}
resource "virtcluster_floating_address" "it" {
  service_node = local.node
  address      = "10.19.41.222"
  target       = "10.0.100.102"
  ports        = { http = { port = 8080 } }
}
resource "virtcluster_registry" "it" {
  service_node = local.node
  name         = "images"
}
resource "virtcluster_dhcp_server" "it" {
  service_node = local.node
  interface    = "eth1"
  cidr         = "10.19.41.0/24"
  ranges       = [{ start = "10.19.41.150", end = "10.19.41.159" }]
}
resource "virtcluster_http_content" "it" {
  service_node = local.node
  listen       = "%[1]s:8080"
  path         = "/motd"
  content      = "hello"
}
resource "virtcluster_hosts_file" "it" {
  host    = local.node
  name    = "homelab"
  entries = { "10.0.100.10" = ["api.lab.example", "api"] }
}
resource "virtcluster_dns_server" "it" {
  service_node = local.node
  allow_query  = ["any"]
}
resource "virtcluster_dns_view" "it" {
  service_node  = local.node
  name          = "inside"
  match_clients = ["any"]
}
resource "virtcluster_dns_zone" "it" {
  service_node = local.node
  view         = virtcluster_dns_view.it.name
  name         = "lab.example"
}
resource "virtcluster_dns_record_set" "it" {
  service_node = local.node
  view         = virtcluster_dns_view.it.name
  zone         = virtcluster_dns_zone.it.name
  name         = "www"
  type         = "A"
  values       = ["10.0.100.11"]
}
resource "virtcluster_haproxy" "it" {
  service_node = local.node
  maxconn      = 4000
}
resource "virtcluster_nfs_export" "it" {
  service_node = local.node
  path         = "/srv/share"
  clients      = [{ match = "10.0.100.0/24", options = ["rw"] }]
}
resource "virtcluster_time_server" "it" {
  service_node = local.node
  clients      = ["10.0.100.0/24"]
}
resource "virtcluster_boot_server" "it" {
  service_node = local.node
  http         = { address = "10.19.41.101" }
}
`, address))
	s.Settled()
	listed := []string{"outside", "okd/api", "web", "10.0.100.102", "images", "eth1", "/motd", "homelab", "list.virtcluster_dns_server.all ", "inside/lab.example", "www", "list.virtcluster_haproxy.all ", "/srv/share", "list.virtcluster_time_server.all ", "list.virtcluster_boot_server.all "}
	writeLists(t, s, fmt.Sprintf("PLACE = %q", endpoint), servedTypes...)
	s.Write(node)
	for _, kind := range servedTypes {
		s.Run("state", "rm", "virtcluster_"+kind+".it")
	}
	out := s.Run("query", "-generate-config-out=generated.tf")
	for _, want := range listed {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not listed:\n%s", want, out)
		}
	}
	wantImports(t, s, len(servedTypes))

	other := acctest.NewStateWithActions(t)
	other.Write(acctest.Provider())
	writeLists(t, other, fmt.Sprintf("PLACE = %q\n    unmanaged = true", endpoint), servedTypes...)
	nobodys := other.Run("query")
	for _, name := range listed {
		if strings.Contains(nobodys, name) {
			t.Errorf("%q is listed of what nobody manages:\n%s", name, nobodys)
		}
	}
	writeLists(t, other, fmt.Sprintf("PLACE = %q\n    name_matches = \"^out\"", endpoint), servedTypes...)
	if out := other.Run("query"); !strings.Contains(out, "outside") || strings.Contains(out, "web") {
		t.Errorf("of what is called out…, this is listed:\n%s", out)
	}
	writeListsWith(t, other, "limit = 1", fmt.Sprintf("PLACE = %q", endpoint), servedTypes...)
	named := other.Run("query")
	for _, name := range listed {
		if !strings.Contains(named, name) {
			t.Errorf("%q is not listed where no more than one of each is, by its name alone:\n%s", name, named)
		}
	}
	if got := strings.Count(named, "list.virtcluster_"); got != len(servedTypes) {
		t.Errorf("%d are listed, and there is one of each of %d types:\n%s", got, len(servedTypes), named)
	}
	writeLists(t, other, "", "registry")
	other.Refused([]string{"service_node"}, "query")

	// What Terraform generated does not say that one of these is in the other.
	for _, kind := range []string{"dns_record_set", "dns_zone", "address"} {
		s.Run("destroy", "-auto-approve", "-target=virtcluster_"+kind+".all_0")
	}
}

// A person's VRRP instances on two machines are listed as one VIP, and the configuration that Terraform generates of them plans nothing but an
// import.
func TestAccListVIPs(t *testing.T) {
	acctest.InSandbox(t)
	acctest.KnownServiceNodes(t, 2)
	byHandOn(t, "svc-1", pair(110, "10.0.100.101", "10.0.100.102"), pairBefore)
	byHandOn(t, "svc-2", pair(100, "10.0.100.102", "10.0.100.101"), pairBefore)
	acctest.Eventually(t, "the person's VIP is held", func() bool {
		return strings.Contains(acctest.On(t, "svc-1", "ip", "-4", "-br", "a"), "10.0.100.230/24")
	})
	s := acctest.NewStateWithActions(t)
	s.Write(acctest.Provider())
	writeLists(t, s, fmt.Sprintf("service_nodes = [%q, %q]\n    unmanaged = true", acctest.Endpoint("svc-1"), acctest.Endpoint("svc-2")), "vip")
	if out := s.Run("query", "-generate-config-out=generated.tf"); strings.Count(out, "virtcluster_vip") != 1 || !strings.Contains(out, "#api") {
		t.Errorf("listed is:\n%s", out)
	}
	wantImports(t, s, 1)
	s.Forget()
	writeLists(t, s, "service_nodes = []", "vip")
	s.Refused([]string{"Nothing in it"}, "query")
}
