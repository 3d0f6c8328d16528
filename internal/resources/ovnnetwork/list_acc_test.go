package ovnnetwork_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// makePersons has a person make a network, a router, a group and a load balancer on no router in OVN's database on hv-1, whose endpoint it returns.
func makePersons(t *testing.T) (ovn string) {
	t.Helper()
	for _, words := range []string{"ls-add persons", "lr-add persons-router", "pg-add persons_group", "lb-add lonely 10.60.0.9:80 10.50.0.9:80"} {
		acctest.On(t, "hv-1", append([]string{"ovn-nbctl", "--timeout=20"}, strings.Fields(words)...)...)
	}
	return acctest.Endpoint("hv-1")
}

// ofState is what a state has in a database of OVN.
func ofState(ovn string) string {
	return fmt.Sprintf(`
resource "virtcluster_ovn_network" "it" {
  ovn     = %[1]q
  name    = "nodes"
  cidr    = "10.50.0.0/24"
  gateway = "10.50.0.1"
}
resource "virtcluster_ovn_router" "it" {
  ovn      = %[1]q
  name     = "lab"
  networks = [virtcluster_ovn_network.it.name]
}
resource "virtcluster_ovn_load_balancer" "it" {
  ovn    = %[1]q
  name   = "api"
  router = virtcluster_ovn_router.it.name
  vips   = { "10.60.0.1:80" = ["10.50.0.11:8080"] }
}
resource "virtcluster_ovn_security_group" "it" {
  ovn   = %[1]q
  name  = "web"
  rules = [{ direction = "ingress", protocol = "tcp", ports = "8080" }]
}
`, ovn)
}

// What a database of OVN has is listed, whoever made it; what a state had that is lost is taken back by what Terraform generates of it.
func TestAccListOVN(t *testing.T) {
	acctest.InSandbox(t)
	acctest.StartOVN(t, 1)
	ovn := makePersons(t)
	s := acctest.NewStateWithActions(t) // what it makes goes with the databases
	s.Apply(acctest.Provider() + ofState(ovn))
	types := []string{"network", "router", "load_balancer", "security_group"}
	write := func(config string) {
		t.Helper()
		var blocks strings.Builder
		for _, kind := range types {
			fmt.Fprintf(&blocks, "list \"virtcluster_ovn_%s\" \"all\" {\n  provider         = virtcluster\n  include_resource = true\n  config {\n    ovn = %q\n%s  }\n}\n", kind, ovn, config)
		}
		if err := os.WriteFile(filepath.Join(s.Dir, "all.tfquery.hcl"), []byte(blocks.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("    unmanaged = true\n")
	if out := s.Run("query"); !strings.Contains(out, "name=persons,") || !strings.Contains(out, "persons-router") || !strings.Contains(out, "persons_group") || strings.Contains(out, "name=nodes") {
		t.Errorf("of what nobody manages, this is listed:\n%s", out)
	}
	write("    name_matches = \"^(nodes|lab|api|web)$\"\n")
	s.Write(acctest.Provider())
	for _, kind := range types {
		s.Run("state", "rm", "virtcluster_ovn_"+kind+".it")
	}
	s.Run("query", "-generate-config-out=generated.tf")
	if plan := s.Run("plan"); !strings.Contains(plan, "Plan: 4 to import, 0 to add, 0 to change, 0 to destroy.") {
		text, _ := os.ReadFile(filepath.Join(s.Dir, "generated.tf"))
		t.Errorf("what was generated plans:\n%s\n%s", plan, text)
	}
	s.Run("apply", "-auto-approve")
	s.Settled()
}

// An inventory has what a database of OVN has: what a person made becomes configuration that plans nothing but imports, what a state had
// that is lost refers to itself, and what cannot be written is told.
func TestAccInventoryOfOVN(t *testing.T) {
	acctest.BothCLIs(t)
	acctest.InSandbox(t)
	acctest.StartOVN(t, 1)
	ovn := makePersons(t)
	s := acctest.NewState(t) // what it makes goes with the databases
	s.Apply(acctest.Provider() + ofState(ovn))
	adopt := func(include string, imports int, unmodelled string, written ...string) {
		t.Helper()
		looking := acctest.NewState(t)
		if include == "this" {
			looking = s
		}
		looking.Apply(acctest.Provider() + fmt.Sprintf(`
data "virtcluster_inventory" "all" {
  ovn     = %q
  include = [%q]
}
output "imports" { value = data.virtcluster_inventory.all.import_blocks }
output "resources" { value = data.virtcluster_inventory.all.configuration }
output "unmodelled" { value = data.virtcluster_inventory.all.unmodelled }
`, ovn, include))
		if told := looking.Run("output", "-json", "unmodelled"); !strings.Contains(told, unmodelled) {
			t.Errorf("as unmodelled is told %s, and nothing of %s", told, unmodelled)
		}
		text := looking.Run("output", "-raw", "imports") + looking.Run("output", "-raw", "resources")
		for _, want := range written {
			if !strings.Contains(text, want) {
				t.Errorf("%s is not written:\n%s", want, text)
			}
		}
		taking := acctest.NewState(t)
		taking.Write(acctest.Provider() + text)
		if plan := taking.Run("plan"); !strings.Contains(plan, fmt.Sprintf("Plan: %d to import, 0 to add, 0 to change, 0 to destroy.", imports)) {
			t.Errorf("what the inventory wrote plans:\n%s\n%s", plan, text)
		}
	}
	adopt("nobody", 3, "lonely", `"persons"`, `"persons-router"`, `"persons_group"`)
	for _, kind := range []string{"network", "router", "load_balancer", "security_group"} {
		s.Run("state", "rm", "virtcluster_ovn_"+kind+".it")
	}
	adopt("this", 4, "[]", "virtcluster_ovn_network.nodes.name", "virtcluster_ovn_router.lab.name")
}
