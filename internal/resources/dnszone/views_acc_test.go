package dnszone_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// upstream is the DNS of the company, on the second service node.
func upstream(t *testing.T) string {
	t.Helper()
	return fmt.Sprintf(`
resource "virtcluster_service_node" "company" {
  endpoint = "ssh://root@%s"
  services = ["bind"]
}
resource "virtcluster_dns_view" "company" {
  service_node  = virtcluster_service_node.company.id
  name          = "company"
  match_clients = ["10.0.100.0/24"]
}
resource "virtcluster_dns_zone" "company" {
  count        = 2
  service_node = virtcluster_dns_view.company.service_node
  view         = virtcluster_dns_view.company.name
  name         = ["corp.example", "lab.example"][count.index]
  records      = { www = { A = ["192.0.2.80"] } }
}
`, acctest.ServiceNodes(t, 2)[1])
}

// asks looks a name up as a data source does, once with the machine that runs Terraform and once with the service node,
// which asks its address on the LAN from its internal one.
const asks = `
data "virtcluster_dns_lookup" "from_here" {
  server     = %q
  name       = "api.okd.example"
  depends_on = [virtcluster_dns_view.external, virtcluster_dns_zone.internal, virtcluster_dns_zone.external]
}
data "virtcluster_dns_lookup" "inside_to_outside" {
  service_node = virtcluster_service_node.dns.id
  from         = %[1]q
  server       = "10.19.41.101"
  name         = "api.okd.example"
  depends_on   = [virtcluster_dns_view.external, virtcluster_dns_zone.internal, virtcluster_dns_zone.external]
}
`

// status wants a question to be answered with a status.
func status(t *testing.T, machine, server, want, name string) resource.TestCheckFunc {
	return func(*terraform.State) error {
		out, err := acctest.Try(t.Context(), machine, "dig", "+recurse", "+time=2", "@"+server, name)
		if err != nil || !strings.Contains(out, "status: "+want+",") {
			return fmt.Errorf("%s asks %s for %s: %v, want %s:\n%s", machine, server, name, err, want, out) //nolint:errorlint // err may be nil, which %w does not print
		}
		return nil
	}
}

func TestAccViewsByArrivalAndByClient(t *testing.T) {
	acctest.InSandbox(t)
	server := acctest.ServiceNodes(t, 2)[0]
	rest := upstream(t) + zone("internal", `api = { A = ["10.0.0.250"] }`) + zone("external", outside) + fmt.Sprintf(asks, server) + fmt.Sprintf(`
resource "virtcluster_dns_zone" "forward" {
  service_node = virtcluster_dns_view.internal.service_node
  view         = virtcluster_dns_view.internal.name
  name         = "lab.example"
  forward      = { servers = [%q] }
}
`, acctest.ServiceNodes(t, 2)[1])
	// The internal view asks the company for all that it does not know; the external one asks nobody.
	byClient := strings.Replace(views(t), "recursion     = true", fmt.Sprintf("recursion     = true\n  forwarders    = [%q]", acctest.ServiceNodes(t, 2)[1]), 1)
	byArrival := strings.NewReplacer("order         = 20", "order         = 5", `match_clients = ["any"]`, `match_destinations = ["10.19.41.101"]`).Replace(byClient)
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			{
				Config: byClient + rest,
				Check: resource.ComposeAggregateTestCheckFunc(
					resource.TestCheckResourceAttr("data.virtcluster_dns_lookup.from_here", "values.0", "10.0.0.250"),
					resource.TestCheckResourceAttr("data.virtcluster_dns_lookup.from_here", "authoritative", "true"),
					resource.TestCheckResourceAttr("data.virtcluster_dns_lookup.inside_to_outside", "values.0", "10.0.0.250"),
					answers(t, "lan-client", "10.19.41.160", "api.okd.example"),
					answers(t, "hypervisor", "192.0.2.80", "www.corp.example", "+recurse"),
					answers(t, "hypervisor", "192.0.2.80", "www.lab.example", "+recurse"),
					status(t, "lan-client", "10.19.41.101", "REFUSED", "www.corp.example"),
					status(t, "lan-client", "10.19.41.101", "REFUSED", "www.lab.example"),
				),
			},
			{
				Config: byArrival + rest,
				Check: resource.ComposeAggregateTestCheckFunc(
					resource.TestCheckResourceAttr("data.virtcluster_dns_lookup.from_here", "values.0", "10.0.0.250"),
					resource.TestCheckResourceAttr("data.virtcluster_dns_lookup.inside_to_outside", "values.0", "10.19.41.160"),
					answers(t, "lan-client", "10.19.41.160", "api.okd.example"),
					status(t, "lan-client", "10.19.41.101", "REFUSED", "www.corp.example"),
				),
			},
		},
	})
}

// What the machine has of the provider, and of named on its behalf.
const leftOfViews = "ls -d /var/lib/virtcluster/* /etc/bind/virtcluster* 2>/dev/null; find /var/cache/bind -name '*.mkeys*'"

// Every file and directory that the provider, or named on its behalf, could have made. That of the trust anchors of a named without
// views is not among them: every named that ever ran has it, and one that is stopped while it writes that file leaves what it wrote.
const filesOfBIND = "find /etc/bind /var/cache/bind /var/lib/virtcluster ! -name 'managed-keys.bind*' ! -path '/var/cache/bind/tmp-*' 2>/dev/null | sort"

func TestAccNothingStaysOfViewsThatWentOrWereRefused(t *testing.T) {
	acctest.InSandbox(t)
	left := func() string { return acctest.On(t, "svc-2", "sh", "-c", leftOfViews+"; :") }
	before := left()
	node := fmt.Sprintf("%s\nresource \"virtcluster_service_node\" \"n\" {\n  endpoint = \"ssh://root@%s\"\n  services = [\"bind\"]\n}\n", acctest.Provider(), acctest.ServiceNodes(t, 2)[1])
	view := func(name, clients string) string {
		return fmt.Sprintf("resource \"virtcluster_dns_view\" %[1]q {\n  service_node = virtcluster_service_node.n.id\n  name = %[1]q\n  match_clients = [%q]\n}\n", name, clients)
	}
	s := acctest.NewState(t)
	s.DestroyAtEnd()
	s.Write(node + view("Capital", "no-such-acl"))
	// Of a first apply that is refused nothing stays either, where the destroy is the next that comes.
	files := func() string { return acctest.On(t, "svc-2", "sh", "-c", filesOfBIND) }
	untouched := files()
	s.Refused([]string{"undefined ACL"}, "apply", "-auto-approve")
	s.Run("destroy", "-auto-approve")
	if now := files(); now != untouched {
		t.Errorf("after a refused first apply and a destroy there is\n%s\nbefore\n%s", now, untouched)
	}
	s.Refused([]string{"undefined ACL"}, "apply", "-auto-approve")
	s.Apply(node)
	if now := left(); strings.Contains(now, "/var/lib/virtcluster/bind") {
		t.Errorf("a refused first view leaves\n%s", now)
	}
	s.Apply(node + view("kept", "10.9.0.0/16") + view("Capital", "10.10.0.0/16"))
	acctest.Eventually(t, "named keeps trust anchors for both views", func() bool { return strings.Count(left(), ".mkeys") >= 2 })
	s.Apply(node + view("kept", "10.9.0.0/16"))
	if now := left(); !strings.Contains(now, "kept.mkeys") || strings.Count(now, ".mkeys\n")+strings.Count(now, ".mkeys.jnl") > 2 {
		t.Errorf("of one view that stays there is\n%s", now)
	}
	s.Run("destroy", "-auto-approve")
	if after := left(); after != before {
		t.Errorf("after the destroy there is\n%s\nbefore\n%s", after, before)
	}
}
