package dnszone_test

import (
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// ownedParts is one part of every kind but the server; address tells whose they are.
func ownedParts(node, address string) string {
	return acctest.Provider() + `
locals { node = "` + node + `" }
resource "virtcluster_dns_server" "dns" {
  service_node = local.node
  allow_query  = ["any"]
}
resource "virtcluster_dns_view" "internal" {
  service_node  = local.node
  name          = "internal"
  match_clients = ["any"]
}
resource "virtcluster_dns_zone" "okd" {
  service_node = local.node
  view         = virtcluster_dns_view.internal.name
  name         = "okd.example"
  records      = { api = { A = ["` + address + `"] } }
}
resource "virtcluster_dns_record_set" "www" {
  service_node = local.node
  view         = virtcluster_dns_view.internal.name
  zone         = virtcluster_dns_zone.okd.name
  name         = "www"
  type         = "A"
  values       = ["` + address + `"]
}
`
}

func TestAccStatesKeepTheirOwn(t *testing.T) {
	acctest.InSandbox(t)
	machine, one, two := acctest.NewState(t), acctest.NewState(t), acctest.NewState(t)
	machine.DestroyAtEnd()
	machine.Apply(serviceNode(t))
	id := node(t, machine)
	one.Apply(ownedParts(id, "10.0.0.1"))
	// What one state has, another can neither take nor change, and learns so while it plans.
	two.Write(ownedParts(id, "10.0.0.2"))
	two.Refused([]string{
		`DNS view "internal"`, "belongs to another state", `import it as "` + id + `#internal"`, `"` + id + `#server"`,
	}, "plan")
	is(t, "10.0.0.1", "api.okd.example")
	one.Settled()
	// An import takes over knowingly; the first change makes it the importer's.
	for address, name := range map[string]string{
		"virtcluster_dns_server.dns": "server", "virtcluster_dns_view.internal": "internal",
		"virtcluster_dns_zone.okd": "internal/okd.example", "virtcluster_dns_record_set.www": "internal/okd.example/www/A",
	} {
		two.Run("import", address, id+"#"+name)
	}
	two.Write(ownedParts(id, "10.0.0.1"))
	two.Settled()
	two.Apply(strings.NewReplacer(`allow_query  = ["any"]`, `allow_query  = ["10.0.0.0/8", "localhost"]`, `match_clients = ["any"]`, `match_clients = ["10.0.0.0/8", "localhost"]`).
		Replace(ownedParts(id, "10.0.0.2")))
	is(t, "10.0.0.2", "api.okd.example")
	two.Settled()
	if out := one.Run("plan", "-refresh-only"); !strings.Contains(out, "is not this resource's any more") {
		t.Errorf("the first state does not say that its zone was taken over:\n%s", out)
	}
	// What is another's now survives a destroy.
	one.Run("destroy", "-auto-approve")
	is(t, "10.0.0.2", "api.okd.example")
	is(t, "10.0.0.2", "www.okd.example")
	two.Settled()
	two.Run("destroy", "-auto-approve")
	is(t, "", "api.okd.example")
}

func TestAccAKilledCreateIsTakenOverByItsOwnState(t *testing.T) {
	acctest.InSandbox(t)
	machine, one, two := acctest.NewState(t), acctest.NewState(t), acctest.NewState(t)
	machine.DestroyAtEnd()
	machine.Apply(serviceNode(t))
	id := node(t, machine)
	one.Apply(ownedParts(id, "10.0.0.1"))
	// A killed run leaves parts on the machine that no state knows.
	one.Forget()
	one.Refused([]string{"finished in this workspace", "import it as"}, "apply", "-auto-approve")
	acctest.Unfinish(t, "svc-1", "/etc/bind", "/var/lib/bind")
	two.Write(ownedParts(id, "10.0.0.2"))
	two.Refused([]string{"belongs to another state"}, "apply", "-auto-approve")
	one.Apply(ownedParts(id, "10.0.0.3"))
	is(t, "10.0.0.3", "api.okd.example")
	one.Settled()
	if left, _ := acctest.Try(t.Context(), "svc-1", "grep", "-r", "creating=", "/etc/bind", "/var/lib/bind"); left != "" {
		t.Errorf("parts stay marked as unfinished:\n%s", left)
	}
	one.Run("destroy", "-auto-approve")
	is(t, "", "api.okd.example")
}

// serviceNode is the machine alone.
func serviceNode(t *testing.T) string {
	t.Helper()
	return acctest.Provider() + `
resource "virtcluster_service_node" "dns" {
  endpoint = "ssh://root@` + acctest.ServiceNodes(t, 1)[0] + `"
  services = ["bind"]
}
`
}
