package dnszone_test

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// views is a server on the first service node that tells the cluster's machines more than the LAN.
func views(t *testing.T) string {
	t.Helper()
	return acctest.Provider() + fmt.Sprintf(`
resource "virtcluster_service_node" "dns" {
  endpoint = "ssh://root@%s"
  services = ["bind"]
}
resource "virtcluster_dns_server" "dns" {
  service_node      = virtcluster_service_node.dns.id
  allow_query       = ["any"]
  dnssec_validation = "no"
}
resource "virtcluster_dns_view" "internal" {
  service_node  = virtcluster_dns_server.dns.service_node
  name          = "internal"
  order         = 10
  match_clients = ["!10.19.41.0/24", "10.0.0.0/8", "localhost"]
  recursion     = true
}
resource "virtcluster_dns_view" "external" {
  service_node  = virtcluster_dns_server.dns.service_node
  name          = "external"
  order         = 20
  match_clients = ["any"]
}
`, acctest.ServiceNodes(t, 1)[0])
}

// zone is one in a view, with the records given.
func zone(view, records string) string {
	return fmt.Sprintf(`
resource "virtcluster_dns_zone" %[1]q {
  service_node = virtcluster_dns_view.%[1]s.service_node
  view         = virtcluster_dns_view.%[1]s.name
  name         = "okd.example"
  ttl          = 60
  records      = { %[2]s }
}
`, view, records)
}

const reverse = `
resource "virtcluster_dns_zone" "reverse" {
  service_node = virtcluster_dns_view.internal.service_node
  view         = virtcluster_dns_view.internal.name
  cidr         = "10.0.0.0/24"
  pointers     = { "10.0.0.1" = "m1.okd.example" }
}
`

const registry = `
resource "virtcluster_dns_record_set" "registry" {
  service_node = virtcluster_dns_zone.internal.service_node
  view         = virtcluster_dns_zone.internal.view
  zone         = virtcluster_dns_zone.internal.name
  name         = "registry"
  type         = "A"
  ttl          = 600
  values       = ["10.0.0.61", "10.0.0.60"]
}
`

const inside = `m1 = { A = ["10.0.0.1"] }, api = { A = ["10.0.0.250"] }, api-int = { A = ["10.0.0.250"] }, "*.apps" = { A = ["10.0.0.250"] },
  "_etcd-server-ssl._tcp" = { SRV = ["0 10 2380 m1"] }, text = { TXT = ["a \"quoted\"; text"] }, six = { AAAA = ["FD00:0::1"] }`

const outside = `api = { A = ["10.19.41.160"] }`

// answers asks from a machine and compares what dig says.
func answers(t *testing.T, machine, want string, question ...string) resource.TestCheckFunc {
	return func(*terraform.State) error {
		server := "10.19.41.101"
		if machine == "hypervisor" {
			server = acctest.ServiceNodes(t, 1)[0]
		}
		got, err := acctest.Try(t.Context(), machine, append([]string{"dig", "+short", "+norecurse", "+time=2", "@" + server}, question...)...)
		lines := strings.Split(got, "\n")
		slices.Sort(lines) // several records come in any order
		if got = strings.Join(lines, " "); err != nil || got != want {
			return fmt.Errorf("%s is told %q about %v, error %v; want %q", machine, got, question, err, want) //nolint:errorlint // err may be nil, which %w does not print
		}
		return nil
	}
}

const internalFile = "/etc/bind/virtcluster/zones/internal/okd.example.zone"

func TestAccZonesAnswerAsTheirViewsSay(t *testing.T) {
	acctest.BothCLIs(t)
	acctest.InSandbox(t)
	before := acctest.On(t, "svc-1", "cat", "/etc/bind/named.conf")
	t.Cleanup(func() {
		out, err := acctest.Try(context.Background(), "svc-1", "sed", "-i", "/^acl mine/d", "/etc/bind/named.conf.local")
		if err != nil {
			t.Error(err, out)
		}
	})
	config := views(t) + zone("internal", inside) + zone("external", outside) + reverse
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		CheckDestroy: func(*terraform.State) error {
			left := acctest.On(t, "svc-1", "sh", "-c", "ls -d /etc/bind/*virtcluster* 2>/dev/null || true; find /etc/bind -name '*.zone'")
			if after := acctest.On(t, "svc-1", "cat", "/etc/bind/named.conf"); after != before || left != "" {
				return fmt.Errorf("left behind: %s; named.conf:\n%s", left, after)
			}
			return nil
		},
		Steps: []resource.TestStep{
			{
				Config: config,
				Check: resource.ComposeAggregateTestCheckFunc(
					answers(t, "hypervisor", "10.0.0.250", "api.okd.example"),
					answers(t, "hypervisor", "10.0.0.250", "x.apps.okd.example"),
					answers(t, "hypervisor", "0 10 2380 m1.okd.example.", "_etcd-server-ssl._tcp.okd.example", "SRV"),
					answers(t, "hypervisor", `"a \"quoted\"; text"`, "text.okd.example", "TXT"),
					answers(t, "hypervisor", "m1.okd.example.", "-x", "10.0.0.1"),
					answers(t, "lan-client", "10.19.41.160", "api.okd.example"),
					answers(t, "lan-client", "", "api-int.okd.example"),
				),
			},
			{
				Config:           config + registry,
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectResourceAction("virtcluster_dns_zone.internal", plancheck.ResourceActionNoop)}},
				Check:            answers(t, "hypervisor", "10.0.0.60 10.0.0.61", "registry.okd.example"),
			},
			{ResourceName: "virtcluster_dns_zone.internal", ImportState: true, ImportStateVerify: true, ImportStateVerifyIgnore: []string{"records", "serial"}},
			{ResourceName: "virtcluster_dns_zone.reverse", ImportState: true, ImportStateVerify: true, ImportStateVerifyIgnore: []string{"pointers"}},
			{ResourceName: "virtcluster_dns_view.internal", ImportState: true, ImportStateVerify: true},
			{ResourceName: "virtcluster_dns_server.dns", ImportState: true, ImportStateVerify: true},
			{ResourceName: "virtcluster_dns_record_set.registry", ImportState: true, ImportStateVerify: true, ImportStateVerifyIgnore: []string{"values"}},
			{
				// A hand edit of the zone shows on the zone, and is mended.
				PreConfig: func() {
					acctest.On(t, "svc-1", "sed", "-i", `s/^api\tIN\tA\t.*/api\tIN\tA\t10.0.0.9/`, internalFile)
				},
				Config: config + registry,
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
					plancheck.ExpectResourceAction("virtcluster_dns_zone.internal", plancheck.ResourceActionUpdate),
					plancheck.ExpectResourceAction("virtcluster_dns_record_set.registry", plancheck.ResourceActionNoop),
				}},
				Check: answers(t, "hypervisor", "10.0.0.250", "api.okd.example"),
			},
			{
				// One of a record set shows on the record set, one of named.conf on the view; what a person adds stays.
				PreConfig: func() {
					acctest.On(t, "svc-1", "sed", "-i", `/^registry\t.*60$/d`, internalFile)
					acctest.On(t, "svc-1", "sed", "-i", `s/match-clients { any; };/match-clients { none; };/`, "/etc/bind/named.conf")
					acctest.On(t, "svc-1", "sh", "-c", `echo 'acl mine { 192.0.2.0/24; };' >> /etc/bind/named.conf.local`)
				},
				Config: config + registry,
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
					plancheck.ExpectResourceAction("virtcluster_dns_zone.internal", plancheck.ResourceActionNoop),
					plancheck.ExpectResourceAction("virtcluster_dns_record_set.registry", plancheck.ResourceActionUpdate),
					plancheck.ExpectResourceAction("virtcluster_dns_view.external", plancheck.ResourceActionUpdate),
					plancheck.ExpectResourceAction("virtcluster_dns_view.internal", plancheck.ResourceActionNoop),
				}},
				Check: answers(t, "lan-client", "10.19.41.160", "api.okd.example"),
			},
			{
				Config:      config + registry + strings.Replace(strings.Replace(registry, `"registry" {`, `"bad" {`, 1), "10.0.0.61", "10.0.0.62", 1),
				ExpectError: regexp.MustCompile(`Record set twice`),
			},
			{
				Config:      strings.Replace(config, `ttl          = 60`, "ttl          = 60\n  name_servers = [\"alias\"]", 1) + registry,
				ExpectError: regexp.MustCompile(`Name server without an address`),
			},
			{
				Config:      strings.Replace(config, `"10.0.0.250"`, `"10.0.0.256"`, 1) + registry,
				ExpectError: regexp.MustCompile(`Invalid A record`),
			},
			{
				Config:      strings.Replace(config, "order         = 20", "order         = 5", 1) + registry,
				ExpectError: regexp.MustCompile(`View that is never asked`),
			},
			{Config: config + registry, Check: answers(t, "hypervisor", "10.0.0.250", "api.okd.example")},
			{Config: config, Check: answers(t, "hypervisor", "", "registry.okd.example")},
		},
	})
}

func TestAccCheckerRefusesAndTheOldZoneServesOn(t *testing.T) {
	acctest.InSandbox(t)
	good := views(t) + zone("internal", inside)
	bad := strings.Replace(good, `recursion     = true`, "recursion     = true\n  options = { \"no-such-option\" = \"yes\" }", 1)
	worse := strings.Replace(good, `dnssec_validation = "no"`, "dnssec_validation = \"no\"\n  options = { \"nor-this\" = \"yes\" }", 1)
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			{Config: good, Check: answers(t, "hypervisor", "10.0.0.250", "api.okd.example")},
			{Config: bad, PlanOnly: true, ExpectError: regexp.MustCompile(`(?s)BIND\s+refuses\s+what\s+is\s+planned.*named.conf:\d+: unknown\s+option\s+'no-such-option'`)},
			{Config: worse, PlanOnly: true, ExpectError: regexp.MustCompile(`(?s)BIND\s+refuses\s+what\s+is\s+planned.*unknown\s+option\s+'nor-this'`)},
			{Config: good, Check: answers(t, "hypervisor", "10.0.0.250", "api.okd.example")},
		},
	})
}
