package network_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// beforeMarks is the configuration of testdata/before: a network with a reservation in it, as the provider made them before networks and
// reservations had their owner's mark.
const beforeMarks = `
resource "virtcluster_network" "n" {
  name   = "netold"
  mode   = "nat"
  bridge = "virbrold"
  cidr   = "10.91.0.0/24"
  domain = "old.example"
  dhcp   = { ranges = [{ start = "10.91.0.100", end = "10.91.0.200" }] }
}
resource "virtcluster_dhcp_reservation" "r" {
  network  = virtcluster_network.n.name
  mac      = "52:54:00:91:00:05"
  ip       = "10.91.0.5"
  hostname = "old"
}
`

// TestAccStateOfTheVersionBeforePlansEmpty has the state and the network that the version before left.
func TestAccStateOfTheVersionBeforePlansEmpty(t *testing.T) {
	acctest.BothCLIs(t)
	acctest.InSandbox(t)
	xml, err := filepath.Abs("testdata/before/network.xml")
	if err != nil {
		t.Fatal(err)
	}
	shell(t, "virsh", "net-define", xml)
	shell(t, "virsh", "net-autostart", "netold")
	shell(t, "virsh", "net-start", "netold")

	s := acctest.NewState(t)
	s.DestroyAtEnd()
	s.Restore("testdata/before/state.json")
	s.Write(beforeMarks)
	s.Settled()
	s.Apply(strings.NewReplacer(`"old.example"`, `"new.example"`, `"10.91.0.5"`, `"10.91.0.6"`).Replace(beforeMarks))
	now := shell(t, "virsh", "net-dumpxml", "netold")
	was, err := os.ReadFile(xml)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`ip='10.91.0.6'`, "new.example", "owner="} {
		if !strings.Contains(strings.ReplaceAll(now, `"`, "'"), want) || strings.Contains(string(was), want) {
			t.Errorf("no %q in\n%s", want, now)
		}
	}
	s.Settled()
}
