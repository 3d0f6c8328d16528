package dnszone_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// sets are record sets that a state adds to the internal zone of another one.
func sets(node string, addresses map[string]string) string {
	var b strings.Builder
	for name, address := range addresses {
		fmt.Fprintf(&b, `
resource "virtcluster_dns_record_set" %[1]q {
  service_node = %[2]q
  view         = "internal"
  zone         = "okd.example"
  name         = %[1]q
  type         = "A"
  values       = [%[3]q]
}
`, name, node, address)
	}
	return acctest.Provider() + b.String()
}

// node is the service node's id in a state that has one.
func node(t *testing.T, s *acctest.State) string {
	t.Helper()
	out := s.Run("state", "show", "virtcluster_service_node.dns")
	id := regexp.MustCompile(`(?m)^ *id += "(.*)"$`).FindStringSubmatch(out)
	if id == nil {
		t.Fatalf("no id in %s", out)
	}
	return id[1]
}

func TestAccStatesShareAZone(t *testing.T) {
	acctest.BothCLIs(t)
	acctest.InSandbox(t)
	owner, one, two := acctest.NewState(t), acctest.NewState(t), acctest.NewState(t)
	owner.DestroyAtEnd()
	owner.Apply(views(t) + zone("internal", `api = { A = ["10.0.0.250"] }`))
	id := node(t, owner)
	both := func(configOne, configTwo string) {
		t.Helper()
		one.Write(configOne)
		two.Write(configTwo)
		first, second := one.Start("apply", "-auto-approve"), two.Start("apply", "-auto-approve")
		for _, r := range []*acctest.Command{first, second} {
			if err := r.Wait(); err != nil {
				t.Fatalf("two applies at once: %v\n%s", err, r.Out.String())
			}
		}
		owner.Settled()
	}
	// Each adds at the same time as the other, and as the zone's owner looks on.
	both(sets(id, map[string]string{"a1": "10.0.1.1", "a2": "10.0.1.2"}), sets(id, map[string]string{"b1": "10.0.2.1", "b2": "10.0.2.2"}))
	for name, address := range map[string]string{"a1": "10.0.1.1", "a2": "10.0.1.2", "b1": "10.0.2.1", "b2": "10.0.2.2", "api": "10.0.0.250"} {
		is(t, address, name+".okd.example")
	}
	// One changes and takes away while the other adds.
	both(sets(id, map[string]string{"a1": "10.0.1.9"}), sets(id, map[string]string{"b1": "10.0.2.1", "b2": "10.0.2.2", "b3": "10.0.2.3"}))
	for name, address := range map[string]string{"a1": "10.0.1.9", "a2": "", "b1": "10.0.2.1", "b2": "10.0.2.2", "b3": "10.0.2.3", "api": "10.0.0.250"} {
		is(t, address, name+".okd.example")
	}
	// What one has, the other cannot take, nor can the zone's owner destroy the zone under them.
	two.Write(sets(id, map[string]string{"b1": "10.0.2.1", "b2": "10.0.2.2", "b3": "10.0.2.3", "api": "10.0.0.1"}))
	if out, err := two.Try("apply", "-auto-approve"); err == nil || !strings.Contains(strings.Join(strings.Fields(out), " "), "among its own records") {
		t.Errorf("a record of the zone is taken: %v\n%s", err, out)
	}
	owner.Write(views(t))
	if out, err := owner.Try("apply", "-auto-approve"); err == nil || !strings.Contains(strings.Join(strings.Fields(out), " "), "record sets of other resources: a1 A, b1 A, b2 A, b3 A") {
		t.Errorf("the zone is destroyed under others' record sets: %v\n%s", err, out)
	}
	// One after the other they go, and the rest stays.
	one.Apply(acctest.Provider())
	for name, address := range map[string]string{"a1": "", "b1": "10.0.2.1", "b3": "10.0.2.3", "api": "10.0.0.250"} {
		is(t, address, name+".okd.example")
	}
	two.Apply(acctest.Provider())
	is(t, "", "b1.okd.example")
	is(t, "10.0.0.250", "api.okd.example")
}

// TestAccEverythingImportsWithoutAChange takes parts of every kind, spelled in other words than BIND's files have them,
// into a second state by import blocks.
func TestAccEverythingImportsWithoutAChange(t *testing.T) {
	acctest.BothCLIs(t)
	acctest.InSandbox(t)
	parts, err := os.ReadFile("testdata/parts.tf")
	if err != nil {
		t.Fatal(err)
	}
	one, two := acctest.NewState(t), acctest.NewState(t)
	one.DestroyAtEnd()
	one.Apply(acctest.Provider() + string(parts) + fmt.Sprintf(`
resource "virtcluster_service_node" "dns" {
  endpoint = "ssh://root@%s"
  services = ["bind"]
}
locals { node = virtcluster_service_node.dns.id }
`, acctest.ServiceNodes(t, 1)[0]))
	one.Settled()
	id := node(t, one)
	imports := []string{fmt.Sprintf("locals { node = %q }\n", id)}
	for _, c := range [][2]string{
		{"server.dns", "server"}, {"view.internal", "internal"}, {"view.external", "external"},
		{"zone.primary", "internal/okd.example"}, {"zone.external", "external/okd.example"}, {"zone.forward", "internal/corp.example"},
		{"zone.octet", "internal/0.0.10.in-addr.arpa"}, {"zone.between", "internal/77.10.in-addr.arpa"},
		{"zone.classless", "internal/128/25.2.0.192.in-addr.arpa"}, {"zone.above", "internal/2.0.192.in-addr.arpa"},
		{"zone.six", "internal/0.0.0.0.0.0.0.0.0.0.0.0.0.0.d.f.ip6.arpa"},
		{"record_set.www", "internal/okd.example/www/A"}, {"record_set.text", "internal/okd.example/@/TXT"},
	} {
		imports = append(imports, fmt.Sprintf("import {\n  to = virtcluster_dns_%s\n  id = %q\n}\n", c[0], id+"#"+c[1]))
	}
	two.Write(acctest.Provider() + string(parts) + strings.Join(imports, ""))
	plan := fmt.Sprintf("Plan: %d to import, 0 to add, 0 to change, 0 to destroy.", len(imports)-1)
	if out := two.Run("plan"); !strings.Contains(out, plan) {
		t.Errorf("not %q:\n%s", plan, out)
	}
	two.Run("apply", "-auto-approve")
	two.Settled()
	if err := os.Remove(filepath.Join(two.Dir, "terraform.tfstate")); err != nil {
		t.Error(err)
	}
	for name, ttl := range map[string]string{"www.okd.example": "600", "api.okd.example": "60"} {
		t.Run(name, func(t *testing.T) {
			out := acctest.On(t, "hypervisor", "dig", "+noall", "+answer", "@"+acctest.ServiceNodes(t, 1)[0], name)
			if words := strings.Fields(out); len(words) < 5 || words[1] != ttl {
				t.Errorf("%s has not the TTL %s: %s", name, ttl, out)
			}
		})
	}
	for question, want := range map[string]string{
		"130.2.0.192.in-addr.arpa PTR":          "130.128/25.2.0.192.in-addr.arpa. edge.okd.example.",
		"1.17.77.10.in-addr.arpa PTR":           "x.okd.example.",
		"_etcd-server-ssl._tcp.okd.example SRV": "0 10 2380 etcd-0.okd.example. 0 10 2380 m2.okd.example.",
		"okd.example CAA":                       `0 issue "ca.example.net"`,
		"any.apps.okd.example A":                "10.0.0.250 10.0.0.251",
		"xn--bcher-kva.okd.example CNAME":       "api.okd.example.",
		"fd00::1 -x":                            "six.okd.example.",
	} {
		words := strings.Fields(question)
		if words[1] == "-x" {
			words = []string{"-x", words[0]}
		}
		is(t, want, append(words, "+recurse")...) // as resolvers ask, who are led on by a CNAME
	}
}
