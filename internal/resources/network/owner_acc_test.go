package network_test

import (
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

const routing = `resource "virtcluster_network" "n" {` + management + `  mode   = "isolated"
  dhcp   = { ranges = [{ start = "10.91.0.200", end = "10.91.0.220" }] }
  routes = [{ cidr = "10.128.0.0/14", via = "10.91.0.1" }]
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
	second.Refused([]string{"belongs to another state", `import it as "acc0"`}, "plan")
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
	shell(t, "ip", "route", "del", "10.128.0.0/14")
	s.Apply(routing)
	s.Settled()
	if out := shell(t, "ip", "route", "show", "10.128.0.0/14"); !strings.Contains(out, "10.91.0.1") {
		t.Errorf("the route is not there: %s", out)
	}
	s.Run("destroy", "-auto-approve")
	if out := shell(t, "virsh", "net-list", "--all", "--name"); strings.Contains(out, "acc0") {
		t.Errorf("the network is left: %s", out)
	}
}

func TestAccNetworkOfTheVersionBeforePlansEmpty(t *testing.T) {
	acctest.BothCLIs(t)
	acctest.InSandbox(t)
	s := acctest.NewState(t)
	s.Apply(routing)
	s.Age(map[string][]string{"virtcluster_network": {"dhcp.hosts"}})
	unmark(t, "acc0")
	s.Settled()
	s.Apply(strings.Replace(routing, "  routes", "  domain = \"a.example\"\n  routes", 1))
	s.Settled()
	s.Run("destroy", "-auto-approve")
}

// unmark takes from a network's configuration what versions before owners' marks did not write.
func unmark(t *testing.T, name string) {
	t.Helper()
	file := t.TempDir() + "/network.xml"
	shell(t, "sh", "-c", `virsh net-dumpxml --inactive "$1" | sed "s/ owner=['\"][^'\"]*['\"]//; s/ workspace=['\"][^'\"]*['\"]//" >"$0" && virsh net-define "$0"`, file, name)
	if xml := shell(t, "virsh", "net-dumpxml", "--inactive", name); strings.Contains(xml, "owner=") {
		t.Fatalf("the network is marked still:\n%s", xml)
	}
}
