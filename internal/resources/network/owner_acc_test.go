package network_test

import (
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

const routing = `resource "virtcluster_network" "n" {` + management + `  mode   = "isolated"
  dhcp   = { ranges = [{ start = "10.91.0.200", end = "10.91.0.220" }] }
  routes = [{ cidr = "10.144.0.0/14", via = "10.91.0.1" }]
}
`

func TestAccNetworkOfAnotherStateIsRefused(t *testing.T) {
	acctest.BothCLIs(t)
	acctest.InSandbox(t)
	first, second := acctest.NewState(t), acctest.NewState(t)
	first.DestroyAtEnd()
	first.Apply(routing)
	before := shell(t, "virsh", "net-dumpxml", "acc0")
	second.Write(routing)
	second.Refused([]string{"belongs to another state", `import it as "acc0"`}, "apply", "-auto-approve")
	if after := shell(t, "virsh", "net-dumpxml", "acc0"); after != before {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
	first.Settled()
	// An import takes it over knowingly; with its next change it is the second one's.
	second.Run("import", address, "acc0")
	second.Apply(strings.Replace(routing, "  routes", "  domain = \"a.example\"\n  routes", 1))
	if out := first.Run("destroy", "-auto-approve"); !strings.Contains(out, "belongs to another state") {
		t.Errorf("the first state says nothing of what it leaves:\n%s", out)
	}
	second.Settled()
	second.Run("destroy", "-auto-approve")
}

func TestAccNetworkOfAKilledRunIsCompletedWithItsRoutes(t *testing.T) {
	acctest.InSandbox(t)
	s := acctest.NewState(t)
	s.Apply(routing)
	s.Forget()
	// What is finished nobody left behind: it may be another provider block's, or a lost state's.
	s.Refused([]string{"finished in this workspace", `import it as "acc0"`}, "apply", "-auto-approve")
	acctest.UnfinishNetwork(t, "acc0")
	shell(t, "ip", "route", "del", "10.144.0.0/14")
	s.Apply(routing)
	s.Settled()
	if xml := shell(t, "virsh", "net-dumpxml", "acc0", "--inactive"); strings.Contains(xml, "creating=") {
		t.Errorf("it stays marked as unfinished:\n%s", xml)
	}
	if out := shell(t, "ip", "route", "show", "10.144.0.0/14"); !strings.Contains(out, "10.91.0.1") {
		t.Errorf("the route is not there: %s", out)
	}
	s.Run("destroy", "-auto-approve")
	if out := shell(t, "virsh", "net-list", "--all", "--name"); strings.Contains(out, "acc0") {
		t.Errorf("the network is left: %s", out)
	}
}
