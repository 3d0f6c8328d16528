package flushzone_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// TestAccFlushZone has a server that asks another one for a zone, whose records change there.
func TestAccFlushZone(t *testing.T) {
	acctest.InSandbox(t)
	servers := acctest.ServiceNodes(t, 2)
	config := func(address string) string {
		config := acctest.Provider()
		for i, more := range []string{"recursion = true", ""} {
			config += fmt.Sprintf(`
resource "virtcluster_service_node" "n%[1]d" {
  endpoint = "ssh://root@%[2]s"
  services = ["bind"]
}
resource "virtcluster_dns_server" "n%[1]d" {
  service_node      = virtcluster_service_node.n%[1]d.id
  dnssec_validation = "no"
}
resource "virtcluster_dns_view" "n%[1]d" {
  service_node  = virtcluster_dns_server.n%[1]d.service_node
  name          = "lan"
  match_clients = ["any"]
  %[3]s
}
`, i, servers[i], more)
		}
		for name, view := range map[string]string{"all": "", "lan": "view = \"lan\"", "other": "view = \"other\""} {
			config += fmt.Sprintf("action \"virtcluster_flush_zone\" %q {\n  config {\n    service_node = virtcluster_service_node.n0.id\n    zone = \"Corp.example.\"\n    %s\n  }\n}\n", name, view)
		}
		return config + fmt.Sprintf(`
resource "virtcluster_dns_zone" "asked" {
  service_node = virtcluster_dns_view.n0.service_node
  view         = virtcluster_dns_view.n0.name
  name         = "corp.example"
  forward      = { servers = [%q] }
}
resource "virtcluster_dns_zone" "company" {
  service_node = virtcluster_dns_view.n1.service_node
  view         = virtcluster_dns_view.n1.name
  name         = "corp.example"
  ttl          = 3600
  records      = { www = { A = [%q] } }
}
`, servers[1], address)
	}
	s := acctest.NewStateWithActions(t)
	s.DestroyAtEnd()
	ask := func() string { return acctest.On(t, "hypervisor", "dig", "+short", "@"+servers[0], "www.corp.example") }
	invoke := func(name string) []string {
		return []string{"apply", "-auto-approve", "-invoke=action.virtcluster_flush_zone." + name}
	}
	now := "192.0.2.1"
	s.Apply(config(now))
	if got := ask(); got != now {
		t.Fatalf("www is %q at first", got)
	}
	for i, name := range []string{"all", "lan"} {
		t.Run(name, func(t *testing.T) {
			s, next := s.For(t), fmt.Sprintf("192.0.2.%d", i+2)
			s.Apply(config(next))
			if got := ask(); got != now {
				t.Errorf("www is %q before it is flushed: nothing is cached", got)
			}
			if out := s.Run(invoke(name)...); !strings.Contains(out, "the cache has nothing of") {
				t.Errorf("it says\n%s", out)
			}
			if got := ask(); got != next {
				t.Errorf("www is %q after it was flushed", got)
			}
			now = next
		})
	}
	s.Refused([]string{"Cannot flush zone", "other"}, invoke("other")...)
	s.Settled()
}
