package faults

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// TestAccNoRequestIsLostWhileExposuresChange asks through two kinds of exposures, ten thousand times and for as long as targets and ports
// come and go.
func TestAccNoRequestIsLostWhileExposuresChange(t *testing.T) {
	acctest.InSandbox(t)
	node := acctest.KnownServiceNodes(t, 1)[0]
	for name, address := range map[string]string{"first": "10.0.100.51", "second": "10.0.100.52", "third": "10.0.100.53"} {
		acctest.Guest(t, name, address, "10.0.100.101", "tcp:8080")
	}
	s := acctest.NewState(t)
	s.DestroyAtEnd()
	config := func(targets []string, one, more string) string {
		return acctest.Provider() + fmt.Sprintf(`
resource "virtcluster_service_node" "edge" {
  endpoint = "ssh://root@%s"
  services = ["haproxy", "nftables"]
}
resource "virtcluster_exposed_service" "web" {
  service_node      = virtcluster_service_node.edge.id
  name              = "web"
  type              = "load_balancer"
  address           = "10.19.41.237"
  configure_address = true
  ports             = { http = { port = 80, target_port = 8080 }%[4]s }
  targets           = ["%[2]s"]
}
resource "virtcluster_exposed_service" "one" {
  service_node      = virtcluster_service_node.edge.id
  name              = "one"
  type              = "external_ip"
  address           = "10.19.41.238"
  configure_address = true
  ports             = { http = { port = 80, target_port = 8080 }%[4]s }
  targets           = [%[3]q]
}
`, node, strings.Join(targets, `", "`), one, more)
	}
	const first, second, third = "10.0.100.51", "10.0.100.52", "10.0.100.53"
	s.Apply(config([]string{first, second}, first, ""))
	const least = 5000
	loads := map[string]func() acctest.Load{"balanced": acctest.StartLoad(t, "lan-client", "10.19.41.237:80", least), "translated": acctest.StartLoad(t, "lan-client", "10.19.41.238:80", least)}
	for _, change := range []struct {
		targets   []string
		one, more string
	}{
		{[]string{first, second, third}, first, ""},
		{[]string{second, third}, second, ", other = { port = 81, target_port = 8080 }"},
		{[]string{third}, third, ", other = { port = 82, target_port = 8080 }"},
		{[]string{first, third}, first, ""},
	} {
		s.Apply(config(change.targets, change.one, change.more))
	}
	for kind, end := range loads {
		t.Run(kind, func(t *testing.T) {
			if l := end(); l.Lost > 0 || l.Asked < least {
				t.Errorf("%s: %d of %d requests were lost: %s", kind, l.Lost, l.Asked, l.First)
			} else {
				t.Logf("%s: %d requests, none lost", kind, l.Asked)
			}
		})
	}
}

// TestAccExposureMovesWithItsVIP has two machines expose the same at a VIP, one of which is cut off.
func TestAccExposureMovesWithItsVIP(t *testing.T) {
	acctest.InSandbox(t)
	nodes := acctest.KnownServiceNodes(t, 2)
	acctest.Guest(t, "behind", "10.0.100.51", "10.0.100.239", "tcp:8080", "echo:7000")
	s := acctest.NewState(t)
	s.DestroyAtEnd()
	s.Apply(acctest.Provider() + fmt.Sprintf(`
locals { nodes = { one = "ssh://root@%s", two = "ssh://root@%s" } }
resource "virtcluster_service_node" "edge" {
  for_each = local.nodes
  endpoint = each.value
  services = ["haproxy", "keepalived", "nftables"]
}
# The guests' gateway moves with the address outside.
resource "virtcluster_vip" "inside" {
  name       = "inside"
  addresses  = ["10.0.100.239/24"]
  sync_group = "edge"
  members    = { for name, node in virtcluster_service_node.edge : name => { service_node = node.id, interface = "eth0", priority = { one = 250, two = 240 }[name] } }
}
resource "virtcluster_vip" "outside" {
  name       = "outside"
  addresses  = ["10.19.41.239/24"]
  sync_group = "edge"
  members    = { for name, node in virtcluster_service_node.edge : name => { service_node = node.id, interface = "eth1", priority = { one = 250, two = 240 }[name] } }
}
resource "virtcluster_exposed_service" "one" {
  for_each     = virtcluster_service_node.edge
  service_node = each.value.id
  name         = "one"
  type         = "external_ip"
  address      = "10.19.41.239"
  ports        = { http = { port = 80, target_port = 8080 }, echo = { port = 7000 } }
  targets      = ["10.0.100.51"]
}
resource "virtcluster_exposed_service" "web" {
  for_each     = virtcluster_service_node.edge
  service_node = each.value.id
  name         = "web"
  type         = "load_balancer"
  address      = "10.19.41.239"
  ports        = { http = { port = 8080 }, echo = { port = 7001, target_port = 7000 } }
  targets      = ["10.0.100.51"]
}
`, nodes[0], nodes[1]))
	s.Settled()
	reached := func(port string) func() bool {
		return func() bool {
			_, err := acctest.Ask(t, "lan-client", "tcp", "10.19.41.239:"+port)
			return err == nil
		}
	}
	acctest.Eventually(t, "what is translated answers", reached("80"))
	acctest.Eventually(t, "what is balanced answers", reached("8080"))
	translated, answersTranslated := acctest.Talk(t, "lan-client", "10.19.41.239:7000")
	balanced, answersBalanced := acctest.Talk(t, "lan-client", "10.19.41.239:7001")
	says := func(in interface{ Write([]byte) (int, error) }, answers <-chan string, word string) bool {
		_, _ = fmt.Fprintln(in, word)
		select {
		case got := <-answers:
			return got == word
		case <-time.After(8 * time.Second):
			return false
		}
	}
	if !says(translated, answersTranslated, "before") || !says(balanced, answersBalanced, "before") {
		t.Fatal("a connection is not answered before anything fails")
	}
	plug := "ip link set eth0 up; ip link set eth1 up; networkctl reconfigure eth0 eth1"
	t.Cleanup(func() { _, _ = acctest.Try(context.Background(), "svc-1", "sh", "-c", plug) })
	cut := time.Now()
	acctest.On(t, "svc-1", "sh", "-c", "ip link set eth0 down; ip link set eth1 down")
	for port, kind := range map[string]string{"80": "translated", "8080": "balanced"} {
		t.Run(port, func(t *testing.T) {
			for !reached(port)() && time.Since(cut) < 30*time.Second {
				time.Sleep(50 * time.Millisecond)
			}
			silence := time.Since(cut)
			t.Logf("%s: a new connection is answered %s after the machine was cut off", kind, silence.Round(10*time.Millisecond))
			if silence > 4*time.Second {
				t.Errorf("%s: new connections are answered only %s after the machine was cut off, four advertisements being 4 s", kind, silence)
			}
		})
	}
	t.Logf("established, translated: goes on: %t", says(translated, answersTranslated, "after"))
	t.Logf("established, balanced: goes on: %t", says(balanced, answersBalanced, "after"))
	acctest.On(t, "svc-1", "sh", "-c", plug)
	acctest.Eventually(t, "the machine that was cut off is reached again", func() bool {
		_, err := acctest.Try(t.Context(), "hypervisor", "ping", "-c1", "-W1", nodes[0])
		return err == nil
	})
}
