package network_test

import (
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// A network whose for_each key is renamed would be stopped under what is on it, or be removed after it was made: Terraform does both
// at once. The plan says to write moved, with which nothing happens.
func TestAccNetworkOfARenamedKeyIsMoved(t *testing.T) {
	acctest.BothCLIs(t)
	acctest.InSandbox(t)
	const one = `
resource "virtcluster_network" "n" {
  for_each = toset(["old"])
  name     = "accren0"
  cidr     = "10.91.0.0/24"
}
`
	renamed := strings.ReplaceAll(one, `"old"`, `"new"`)
	s := acctest.NewState(t)
	s.DestroyAtEnd()
	s.Apply(one)
	before := acctest.Virsh(t, "net-uuid", "accren0")
	s.Write(renamed)
	s.Refused([]string{"Destroyed and made under one name", `network "accren0"`, "moved {"}, "plan")
	s.Apply(renamed + `
moved {
  from = virtcluster_network.n["old"]
  to   = virtcluster_network.n["new"]
}
`)
	s.Settled()
	if after := acctest.Virsh(t, "net-uuid", "accren0"); after != before {
		t.Errorf("another network: %s instead of %s", after, before)
	}
}

// A network whose name follows its for_each key is in its own way under the new key. The plan says to write moved, with which it is
// made anew under its new name, after it was removed.
func TestAccNetworkNamedByARenamedKeyIsMoved(t *testing.T) {
	acctest.InSandbox(t)
	const one = `
resource "virtcluster_network" "n" {
  for_each = toset(["old"])
  name     = "accren-${each.key}"
  cidr     = "10.91.0.0/24"
  dhcp     = {}
}
`
	renamed := strings.ReplaceAll(one, `"old"`, `"new"`)
	s := acctest.NewState(t)
	s.DestroyAtEnd()
	s.Apply(one)
	s.Write(renamed)
	s.Refused([]string{"Overlapping subnets", `network "accren-old"`, "moved {"}, "plan")
	s.Apply(renamed + `
moved {
  from = virtcluster_network.n["old"]
  to   = virtcluster_network.n["new"]
}
`)
	s.Settled()
	if out := acctest.Virsh(t, "net-list", "--all", "--name"); !strings.Contains(out, "accren-new") || strings.Contains(out, "accren-old") {
		t.Errorf("there are %s", out)
	}
}
