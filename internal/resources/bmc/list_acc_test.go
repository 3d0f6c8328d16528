package bmc_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// Controllers that a state had are listed and in the inventory when that state is lost, and taken back.
func TestAccListBMC(t *testing.T) {
	s := newStage(t)
	s.domain("w1", drive)
	s.domain("w2", "")
	terraform := acctest.NewStateWithActions(t)
	terraform.DestroyAtEnd()
	config := s.config(nodes)
	terraform.Apply(config)
	write := func(filter string) {
		t.Helper()
		block := "list \"virtcluster_bmc\" \"all\" {\n  provider = virtcluster\n  include_resource = true\n  config {\n    " + filter + "\n  }\n}\n"
		if err := os.WriteFile(filepath.Join(terraform.Dir, "all.tfquery.hcl"), []byte(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(`name_matches = "^other"`)
	if out := terraform.Run("query"); strings.Contains(out, "name=rack") {
		t.Errorf("listed of what is called other… is:\n%s", out)
	}
	write("")
	terraform.Run("state", "rm", "virtcluster_bmc.it")
	if out := terraform.Run("query"); strings.Count(out, "name=rack") != 1 {
		t.Errorf("listed is:\n%s", out)
	}
	provider, _, _ := strings.Cut(config, "resource ")
	looking := acctest.NewState(t)
	looking.Apply(provider + `
data "virtcluster_inventory" "all" {
  types   = ["virtcluster_bmc"]
}
output "items" { value = data.virtcluster_inventory.all.items }
`)
	if out := looking.Run("output", "-json", "items"); strings.Count(out, `"name":"rack"`) != 1 {
		t.Errorf("the inventory has %s", out)
	}
	terraform.Run("import", "virtcluster_bmc.it", "rack")
	terraform.Apply(config) // the password is written again: nothing tells which it is
	terraform.Settled()
}
