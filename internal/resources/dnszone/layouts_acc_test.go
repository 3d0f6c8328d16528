package dnszone_test

import (
	"context"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// TestAccZonesOfAPersonBelowTheDirectoryGoOnBeingServed has a zone in a file that a pattern includes from a subdirectory.
func TestAccZonesOfAPersonBelowTheDirectoryGoOnBeingServed(t *testing.T) {
	acctest.InSandbox(t)
	shell := func(script string) string { t.Helper(); return acctest.On(t, "svc-1", "sh", "-c", script) }
	shell(`set -e; mkdir -p /etc/bind/sites; cp /etc/bind/named.conf.local /var/tmp/local.before
printf '$TTL 60\n@ SOA ns. root. 1 60 60 60 60\n@ NS ns.\nwww A 192.0.2.7\n' >/etc/bind/sites/home.db
echo 'zone "home.example" { type master; file "/etc/bind/sites/home.db"; };' >/etc/bind/sites/home.conf
echo 'include "/etc/bind/sites/*.conf";' >>/etc/bind/named.conf.local
systemctl restart named; sha256sum /etc/bind/named.conf* /etc/bind/sites/* >/var/tmp/sums.before`)
	t.Cleanup(func() {
		out, err := acctest.Try(context.Background(), "svc-1", "sh", "-c", `cp /var/tmp/local.before /etc/bind/named.conf.local; rm -rf /etc/bind/sites; systemctl stop named`)
		if err != nil {
			t.Error(err, out)
		}
	})
	state := acctest.NewState(t)
	state.DestroyAtEnd()
	views := serviceNode(t) + `
resource "virtcluster_dns_view" "inside" {
  service_node  = virtcluster_service_node.dns.id
  name          = "inside"
  match_clients = ["10.0.0.0/8", "localhost"]
}
resource "virtcluster_dns_zone" "okd" {
  service_node = virtcluster_dns_view.inside.service_node
  view         = virtcluster_dns_view.inside.name
  name         = "okd.example"
  records      = { api = { A = ["10.0.0.1"] } }
}
`
	state.Apply(views)
	is(t, "10.0.0.1", "api.okd.example")
	is(t, "192.0.2.7", "www.home.example")
	state.Settled()
	state.Apply(serviceNode(t))
	shell("sha256sum --quiet -c /var/tmp/sums.before && test -z \"$(find /etc/bind -name '*virtcluster*')\"")
	state.Apply(views)
	// Somebody tidies up the file that was kept: nothing is lost for it.
	shell("rm /etc/bind/named.conf.virtcluster-original")
	state.Apply(serviceNode(t))
	is(t, "", "api.okd.example")
	is(t, "192.0.2.7", "www.home.example")
	shell("named-checkconf -z /etc/bind/named.conf")
	if out := shell("ls /etc/bind; cat /etc/bind/named.conf"); strings.Contains(out, "virtcluster") {
		t.Errorf("something of the provider's stays:\n%s", out)
	}
}

// TestAccZonesThatAPersonWritesIntoOursStay has one in a view of the provider's and one in its file of the zones from before.
func TestAccZonesThatAPersonWritesIntoOursStay(t *testing.T) {
	acctest.InSandbox(t)
	shell := func(script string) string { t.Helper(); return acctest.On(t, "svc-1", "sh", "-c", script) }
	shell(`set -e; mkdir -p /etc/bind/virtcluster-test; cp /etc/bind/named.conf /var/tmp/named.conf.before
printf '$TTL 60\n@ SOA ns. root. 1 60 60 60 60\n@ NS ns.\nwww A 192.0.2.7\n' >/etc/bind/virtcluster-test/theirs.db`)
	t.Cleanup(func() {
		out, err := acctest.Try(context.Background(), "svc-1", "sh", "-c", `cp /var/tmp/named.conf.before /etc/bind/named.conf; rm -rf /etc/bind/virtcluster-test /etc/bind/named.conf.virtcluster-edited; systemctl stop named`)
		if err != nil {
			t.Error(err, out)
		}
	})
	state := acctest.NewState(t)
	state.DestroyAtEnd()
	state.Apply(serviceNode(t) + `
resource "virtcluster_dns_view" "inside" {
  service_node  = virtcluster_service_node.dns.id
  name          = "inside"
  match_clients = ["10.0.0.0/8", "localhost"]
}
`)
	shell(`set -e; cd /etc/bind; zone='type master; file "/etc/bind/virtcluster-test/theirs.db"; };'
sed -i "s|^view \"inside\" {|&\n\tzone \"view.example\" { $zone|" named.conf
echo "zone \"office.example\" { $zone" >>named.conf.virtcluster-zones
rndc reconfig`)
	is(t, "192.0.2.7", "www.view.example")
	is(t, "192.0.2.7", "www.office.example")
	state.Settled()
	state.Write(serviceNode(t))
	state.Refused([]string{`view "inside" holds zones that this provider did not write: view.example; move them to another view`}, "apply", "-auto-approve")
	is(t, "192.0.2.7", "www.view.example")
	shell(`sed -i '/view.example/d' /etc/bind/named.conf && rndc reconfig`)
	said := strings.Join(strings.Fields(strings.ReplaceAll(state.Run("apply", "-auto-approve"), "│", "")), " ")
	if !strings.Contains(said, "zone office.example, which was written by hand into a file of the provider's, stands in /etc/bind/named.conf now") {
		t.Errorf("no warning in %s", said)
	}
	is(t, "192.0.2.7", "www.office.example")
	state.Run("destroy", "-auto-approve")
	shell(`named-checkconf -z /etc/bind/named.conf && grep -v office.example /etc/bind/named.conf | cmp - /var/tmp/named.conf.before && test -z "$(ls /etc/bind/named.conf.virtcluster* 2>/dev/null)"`)
}

// TestAccAZoneOfAPersonInNoViewIsImported has a zone whose file is where named's own are, in a file that includes another one beside it: it is taken
// by an import alone, changed, served in views that come later, and as it was in the end.
func TestAccAZoneOfAPersonInNoViewIsImported(t *testing.T) {
	acctest.BothCLIs(t)
	acctest.InSandbox(t)
	shell := func(script string) string { t.Helper(); return acctest.On(t, "svc-1", "sh", "-c", script) }
	shell(`set -e; cp /etc/bind/named.conf.local /var/tmp/local.before; mkdir -p /etc/bind/sites
printf '$TTL 1H\n@ SOA ns1 root 2099010101 3H 30M 2W 1H\n@ NS ns1\nns1 A 10.0.0.5\napi A 10.0.0.5\n' >/var/cache/bind/zonefile.db
printf '$TTL 60\n@ SOA ns. root. 1 60 60 60 60\n@ NS ns.\nwww A 192.0.2.7\n' >/etc/bind/sites/office.db
cat >/etc/bind/sites/all.conf <<'END'
// the cluster's
zone "ocp4.example" IN { type master; file "zonefile.db"; notify no; };
zone "office.example" { type master; file "/etc/bind/sites/office.db"; };
END
echo 'include "/etc/bind/sites/all.conf";' >>/etc/bind/named.conf.local
systemctl restart named; sha256sum /etc/bind/named.conf* /etc/bind/sites/* /var/cache/bind/zonefile.db >/var/tmp/sums.before`)
	t.Cleanup(func() {
		out, err := acctest.Try(context.Background(), "svc-1", "sh", "-c", `cp /var/tmp/local.before /etc/bind/named.conf.local; rm -rf /etc/bind/sites /var/cache/bind/zonefile.db; systemctl stop named`)
		if err != nil {
			t.Error(err, out)
		}
	})
	zone := func(address string) string {
		return `
resource "virtcluster_dns_zone" "ocp4" {
  service_node = virtcluster_service_node.dns.id
  name         = "ocp4.example"
  ttl          = 3600
  name_servers = ["ns1"]
  soa          = { rname = "root", refresh = 10800, retry = 1800, minimum = 3600 }
  records      = { ns1 = { A = ["10.0.0.5"] }, api = { A = ["` + address + `"] } }
}
`
	}
	state := acctest.NewState(t)
	state.DestroyAtEnd()
	state.Apply(serviceNode(t))
	state.Write(serviceNode(t) + zone("10.0.0.5"))
	state.Refused([]string{"ocp4.example", "import"}, "plan")
	state.Run("import", "virtcluster_dns_zone.ocp4", node(t, state)+"#/ocp4.example")
	state.Settled()
	shell("sha256sum --quiet -c /var/tmp/sums.before")
	// Destroyed before anything of it was changed, it stays the person's.
	if said := state.Run("destroy", "-auto-approve", "-target=virtcluster_dns_zone.ocp4"); !strings.Contains(said, `DNS zone "ocp4.example" in view "" stays`) {
		t.Errorf("nothing says that the person's zone stays:\n%s", said)
	}
	shell("sha256sum --quiet -c /var/tmp/sums.before")
	is(t, "10.0.0.5", "api.ocp4.example")
	state.Run("import", "virtcluster_dns_zone.ocp4", node(t, state)+"#/ocp4.example")
	state.Write(serviceNode(t) + zone("10.0.0.6"))
	if plan := state.Run("plan"); !strings.Contains(plan, "allow_transfer") {
		t.Errorf("the plan does not say who may transfer the zone once it is written anew:\n%s", plan)
	}
	state.Apply(serviceNode(t) + zone("10.0.0.6"))
	state.Settled()
	is(t, "10.0.0.6", "api.ocp4.example")
	is(t, "192.0.2.7", "www.office.example")
	shell("grep -q 'notify no' /etc/bind/named.conf.virtcluster-everywhere && ! grep -q ocp4 /etc/bind/named.conf.virtcluster-zones && named-checkconf -z /etc/bind/named.conf")
	theirs := acctest.NewState(t)
	theirs.DestroyAtEnd()
	theirs.Apply(acctest.Provider() + `
resource "virtcluster_dns_view" "theirs" {
  service_node  = "` + node(t, state) + `"
  name          = "theirs"
  match_clients = ["10.0.0.0/8", "localhost"]
}
`)
	state.Settled()
	state.Apply(serviceNode(t) + zone("10.0.0.7"))
	state.Settled()
	is(t, "10.0.0.7", "api.ocp4.example")
	is(t, "192.0.2.7", "www.office.example")
	theirs.Run("destroy", "-auto-approve")
	is(t, "10.0.0.7", "api.ocp4.example")
	state.Apply(serviceNode(t))
	shell("sha256sum --quiet -c /var/tmp/sums.before && test -z \"$(find /etc/bind -name '*virtcluster*')\"")
	is(t, "10.0.0.5", "api.ocp4.example")
}

func TestAccAZoneWithoutAViewAnswersEveryone(t *testing.T) {
	acctest.InSandbox(t)
	state := acctest.NewState(t)
	state.DestroyAtEnd()
	zone := func(address string) string {
		return `
resource "virtcluster_dns_zone" "okd" {
  service_node = virtcluster_service_node.dns.id
  name         = "okd.example"
  records      = { api = { A = ["` + address + `"] } }
}
output "serial" { value = virtcluster_dns_zone.okd.serial }
`
	}
	www := `
resource "virtcluster_dns_record_set" "www" {
  service_node = virtcluster_dns_zone.okd.service_node
  zone         = virtcluster_dns_zone.okd.name
  name         = "www"
  type         = "A"
  values       = ["10.0.0.9"]
}
`
	state.Apply(serviceNode(t) + zone("10.0.0.1") + www)
	// An output of the serial is settled too, though a record set came after the zone.
	state.Settled()
	is(t, "10.0.0.1", "api.okd.example")
	is(t, "10.0.0.9", "www.okd.example")
	if err := answers(t, "lan-client", "10.0.0.1", "api.okd.example")(nil); err != nil {
		t.Error(err)
	}
	state.Apply(serviceNode(t) + zone("10.0.0.2") + www)
	is(t, "10.0.0.2", "api.okd.example")
	state.Settled()
	id := node(t, state)
	state.Run("state", "rm", "virtcluster_dns_zone.okd", "virtcluster_dns_record_set.www")
	state.Run("import", "virtcluster_dns_zone.okd", id+"#/okd.example")
	state.Run("import", "virtcluster_dns_record_set.www", id+"#/okd.example/www/A")
	state.Settled()
	state.Write(serviceNode(t) + zone("10.0.0.2") + www + `
resource "virtcluster_dns_view" "late" {
  service_node  = virtcluster_service_node.dns.id
  name          = "late"
  match_clients = ["10.0.0.0/8"]
}
`)
	state.Refused([]string{"answers by views, late", "name the one that the zone belongs into"}, "plan")
	// Another state's view serves the zone too, and is no reason to refuse what is there.
	state.Write(serviceNode(t) + zone("10.0.0.2") + www)
	theirs := acctest.NewState(t)
	theirs.DestroyAtEnd()
	theirs.Apply(acctest.Provider() + `
resource "virtcluster_dns_view" "theirs" {
  service_node  = "` + id + `"
  name          = "theirs"
  match_clients = ["any"]
}
`)
	state.Settled()
	is(t, "10.0.0.2", "api.okd.example")
	state.Apply(serviceNode(t) + zone("10.0.0.3") + www)
	state.Settled()
	is(t, "10.0.0.3", "api.okd.example")
}

// TestAccOneNameTwiceIsRefused describes one zone in two resources: known while planning, or only when they are created.
func TestAccOneNameTwiceIsRefused(t *testing.T) {
	acctest.InSandbox(t)
	state := acctest.NewState(t)
	state.DestroyAtEnd()
	twice := func(node string) string {
		var b strings.Builder
		for _, name := range []string{"one", "two"} {
			b.WriteString(`
resource "virtcluster_dns_zone" "` + name + `" {
  service_node = ` + node + `
  name         = "okd.example"
  records      = { ` + name + ` = { A = ["10.0.0.1"] } }
}
`)
		}
		return serviceNode(t) + b.String()
	}
	// The id is not known before the machine is: what is created second fails, and what was created first stays and serves.
	state.Write(twice("virtcluster_service_node.dns.id"))
	state.Refused([]string{"escribed twice"}, "apply", "-auto-approve")
	state.Refused([]string{"Described twice", `"/okd.example"`}, "plan")
	state.Run("destroy", "-auto-approve")
	state.Apply(serviceNode(t))
	state.Write(twice("virtcluster_service_node.dns.id"))
	state.Refused([]string{"Described twice"}, "plan")
	// Of a resource that was not chosen nothing is known: what is there may be its.
	state.Run("apply", "-auto-approve", "-target=virtcluster_dns_zone.one")
	state.Refused([]string{"finished in this workspace by another resource"}, "apply", "-auto-approve", "-target=virtcluster_dns_zone.two")
}
