package faults

import (
	"fmt"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// firewallOfMachine is a program that refuses what it was not told to let in: how it is set up and gone again, what it says of its rules,
// and how it reads them anew.
type firewallOfMachine struct {
	setUp, remove, rules, reload string
	// opens is what the plan is to say that lets a port in.
	opens string
}

var firewalls = map[string]firewallOfMachine{
	// A container loads no modules and changes no settings of the kernel.
	"ufw": {
		`sed -i 's/^IPT_MODULES=.*/IPT_MODULES=/; s/^IPT_SYSCTL=.*/IPT_SYSCTL=/' /etc/default/ufw
ufw default deny incoming; ufw default deny routed; ufw allow 22/tcp; ufw --force enable`,
		"ufw --force disable; dpkg --purge ufw; for p in iptables ip6tables; do $p -P INPUT ACCEPT; $p -P FORWARD ACCEPT; $p -F; $p -X; done; nft delete table ip filter; nft delete table ip6 filter",
		"iptables -S; ip6tables -S; ufw status verbose", "ufw reload",
		"ufw allow proto tcp to 10.19.41.227 port 80",
	},
	"firewalld": {
		"systemctl start firewalld; n=0; until nft list table inet firewalld >/dev/null 2>&1; do n=$((n + 1)); [ $n -lt 200 ] || exit 1; sleep 0.1; done; firewall-cmd --reload",
		"systemctl stop firewalld; dpkg --purge firewalld python3-firewall",
		"nft --stateless list table inet firewalld; firewall-cmd --list-all-zones", "firewall-cmd --reload",
		"firewall-cmd --permanent --zone=public --add-port=80/tcp && firewall-cmd --reload",
	},
}

// TestAccGuestsAreReachedBesideFirewalls exposes guests on a machine where a real firewall refuses all but SSH: what is translated passes, and
// what HAProxy carries once it was let in by the command that the plan names.
func TestAccGuestsAreReachedBesideFirewalls(t *testing.T) {
	acctest.InSandbox(t)
	node := acctest.KnownServiceNodes(t, 1)[0]
	acctest.Guest(t, "behind", "10.0.100.51", "10.0.100.101", "tcp:8080", "udp:5353")
	for name, f := range firewalls {
		t.Run(name, func(t *testing.T) {
			installFirewall(t, "svc-1", name, f)
			before := acctest.On(t, "svc-1", "sh", "-c", f.rules)
			translated := acctest.Provider() + fmt.Sprintf(`
resource "virtcluster_service_node" "edge" {
  endpoint = "ssh://root@%s"
  services = ["haproxy", "nftables"]
}
resource "virtcluster_exposed_service" "one" {
  service_node      = virtcluster_service_node.edge.id
  name              = "one"
  type              = "external_ip"
  address           = "10.19.41.226"
  configure_address = true
  ports             = { http = { port = 80, target_port = 8080 }, dns = { port = 53, target_port = 5353, protocol = "udp" } }
  targets           = ["10.0.100.51"]
}
`, node)
			balanced := translated + `
resource "virtcluster_exposed_service" "web" {
  service_node      = virtcluster_service_node.edge.id
  name              = "web"
  type              = "load_balancer"
  address           = "10.19.41.227"
  configure_address = true
  ports             = { http = { port = 80, target_port = 8080 } }
  targets           = ["10.0.100.51"]
}
`
			reached := func(when string, addresses ...string) {
				t.Helper()
				for _, address := range addresses {
					network := "tcp"
					if strings.HasSuffix(address, ":53") {
						network = "udp"
					}
					if got, err := acctest.Ask(t, "lan-client", network, address); err != nil {
						t.Errorf("%s, %s %s: %q %v", when, network, address, got, err)
					}
				}
			}
			s := acctest.NewState(t)
			s.DestroyAtEnd()
			s.Apply(translated)
			s.Settled()
			reached("not told to let it in", "10.19.41.226:80", "10.19.41.226:53")
			s.Write(balanced)
			s.Refused([]string{"Shut by a firewall", name + " runs and does not let tcp port 80 of 10.19.41.227 in: open it (" + f.opens + ")"}, "plan")
			acctest.On(t, "svc-1", "sh", "-c", f.opens)
			s.Apply(balanced)
			s.Settled()
			reached("let in", "10.19.41.226:80", "10.19.41.226:53", "10.19.41.227:80")
			acctest.On(t, "svc-1", "sh", "-c", f.reload)
			s.Run("apply", "-auto-approve")
			s.Settled()
			reached("after a reload", "10.19.41.226:80", "10.19.41.226:53", "10.19.41.227:80")
			s.Run("destroy", "-auto-approve")
			// Its own rules are what they were, but for the one that it was told.
			after := acctest.On(t, "svc-1", "sh", "-c", f.rules)
			for line := range strings.Lines(before) {
				if !strings.Contains(after, strings.TrimSpace(line)) {
					t.Errorf("%s has no %q any more:\n%s", name, line, after)
				}
			}
			if strings.Contains(after, "VIRTCLUSTER") || strings.Contains(after, "virtcluster") {
				t.Errorf("left in it:\n%s", after)
			}
		})
	}
}
