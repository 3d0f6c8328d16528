package servicenode_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// tenant is a state with a service node, and a view and a zone on it; replace makes the service node of a key.
func tenant(t *testing.T, name, clients, key string) string {
	t.Helper()
	return acctest.Provider() + `
resource "virtcluster_service_node" "dns" {
  for_each = toset(["` + key + `"])
  endpoint = "ssh://root@` + acctest.ServiceNodes(t, 1)[0] + `"
  services = ["bind", "haproxy"]
}
resource "virtcluster_dns_view" "own" {
  service_node  = virtcluster_service_node.dns["` + key + `"].id
  name          = "` + name + `"
  match_clients = ["` + clients + `"]
}
resource "virtcluster_dns_zone" "own" {
  service_node = virtcluster_dns_view.own.service_node
  view         = virtcluster_dns_view.own.name
  name         = "` + name + `.example"
  records      = { www = { A = ["192.0.2.1"] } }
}
`
}

// asked is what the hypervisor is told about a tenant's zone; each tenant's view is for one address of its own.
func asked(t *testing.T, name string) string {
	t.Helper()
	out, _ := acctest.Try(t.Context(), "hypervisor", "dig", "+short", "+norecurse", "+time=2", "@"+acctest.ServiceNodes(t, 1)[0], "www."+name+".example")
	return strings.TrimSpace(out)
}

func TestAccTwoStatesShareAServiceNode(t *testing.T) {
	acctest.BothCLIs(t)
	acctest.InSandbox(t)
	before := acctest.On(t, "svc-1", "sh", "-c", "cat /etc/bind/named.conf; systemctl is-enabled named haproxy; systemctl is-active named haproxy; true")
	one, two := acctest.NewState(t), acctest.NewState(t)
	two.DestroyAtEnd()
	one.DestroyAtEnd()
	one.Apply(tenant(t, "one", "192.0.2.0/24", "a"))
	two.Apply(tenant(t, "two", "10.0.0.0/8", "a"))
	one.Settled()
	// A service that is dropped here, and the whole machine then, go on for the other.
	out := one.Run("destroy", "-auto-approve")
	if !strings.Contains(out, "stays as it is: other service nodes") || asked(t, "two") != "192.0.2.1" {
		t.Errorf("the other state's zone is told as %q after\n%s", asked(t, "two"), out)
	}
	two.Settled()
	if out := two.Run("destroy", "-auto-approve"); strings.Contains(out, "stays as it is") {
		t.Errorf("the last one leaves, and something stays:\n%s", out)
	}
	after := acctest.On(t, "svc-1", "sh", "-c", "cat /etc/bind/named.conf; systemctl is-enabled named haproxy; systemctl is-active named haproxy; true")
	if after != before {
		t.Errorf("the machine is not as it was:\n%s\nbefore:\n%s", after, before)
	}
	acctest.On(t, "svc-1", "sh", "-c", "test ! -e /var/lib/virtcluster")
}

func TestAccWhatLivesOnAServiceNodeSurvivesItsReplacement(t *testing.T) {
	acctest.BothCLIs(t)
	acctest.InSandbox(t)
	state := acctest.NewState(t)
	state.DestroyAtEnd()
	state.Apply(tenant(t, "one", "10.0.0.0/8", "a"))
	serves := func(when string) {
		t.Helper()
		if got := asked(t, "one"); got != "192.0.2.1" {
			t.Errorf("%s: www.one.example is %q", when, got)
		}
		state.Settled()
	}
	serves("at first")
	state.Run("apply", "-auto-approve", `-replace=virtcluster_service_node.dns["a"]`)
	serves("after -replace")
	state.Apply(tenant(t, "one", "10.0.0.0/8", "b"))
	serves("after another key")
}

func TestAccPartsWithoutTheirStateOutliveTheServiceNode(t *testing.T) {
	acctest.InSandbox(t)
	state := acctest.NewState(t)
	state.DestroyAtEnd()
	state.Apply(tenant(t, "one", "10.0.0.0/8", "a"))
	id := regexp.MustCompile(`(?m)^\s*id\s+= "(.*)"$`)
	view := id.FindStringSubmatch(state.Run("state", "show", "virtcluster_dns_view.own"))[1]
	zone := id.FindStringSubmatch(state.Run("state", "show", "virtcluster_dns_zone.own"))[1]
	state.Run("state", "rm", "virtcluster_dns_view.own", "virtcluster_dns_zone.own")
	if out := state.Run("destroy", "-auto-approve"); !strings.Contains(strings.Join(strings.Fields(strings.ReplaceAll(out, "│", "")), " "), "goes on serving what is still there: view one") {
		t.Errorf("the destroy does not say what stays:\n%s", out)
	}
	if got := asked(t, "one"); got != "192.0.2.1" {
		t.Errorf("www.one.example is %q", got)
	}
	// The next apply from here refuses what has no state: it may be anybody's of this workspace. An import takes it over.
	state.Refused([]string{"finished in this workspace", "import it as"}, "apply", "-auto-approve")
	state.Run("import", "virtcluster_dns_view.own", view)
	state.Run("import", "virtcluster_dns_zone.own", zone)
	state.Apply(tenant(t, "one", "10.0.0.0/8", "a"))
	state.Settled()
}
