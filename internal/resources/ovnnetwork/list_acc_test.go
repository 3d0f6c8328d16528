package ovnnetwork_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// What a database of OVN has is listed, whoever made it; what a state had that is lost is taken back by what Terraform generates of it.
func TestAccListOVN(t *testing.T) {
	acctest.InSandbox(t)
	acctest.StartOVN(t, 1)
	nb := func(argv ...string) {
		t.Helper()
		acctest.On(t, "hv-1", append([]string{"ovn-nbctl", "--timeout=20"}, argv...)...)
	}
	nb("ls-add", "persons")
	nb("lr-add", "persons-router")
	nb("pg-add", "persons_group")
	ovn := acctest.Endpoint("hv-1")
	s := acctest.NewStateWithActions(t) // what it makes goes with the databases
	s.Apply(acctest.Provider() + fmt.Sprintf(`
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
`, ovn))
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
