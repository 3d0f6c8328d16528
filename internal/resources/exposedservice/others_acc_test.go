package exposedservice_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// ofOthers is what kube-proxy keeps for two node ports, in iptables' tables, and what Docker does for a published port, both led to a guest.
const ofOthers = `iptables-restore --noflush <<'END'
*nat
:KUBE-NODEPORTS - [0:0]
:KUBE-SEP-WEB - [0:0]
:KUBE-SERVICES - [0:0]
-A PREROUTING -m comment --comment "kubernetes service portals" -j KUBE-SERVICES
-A KUBE-NODEPORTS -p tcp -m comment --comment "default/web" -m tcp --dport 31455 -j KUBE-SEP-WEB
-A KUBE-NODEPORTS -p tcp -m comment --comment "default/other" -m tcp --dport 30000 -j KUBE-SEP-WEB
-A KUBE-SEP-WEB -p tcp -m comment --comment "default/web" -m tcp -j DNAT --to-destination 10.0.100.52:8080
-A KUBE-SERVICES -m addrtype --dst-type LOCAL -j KUBE-NODEPORTS
COMMIT
END
sysctl -qw net.ipv4.ip_forward=1 2>/dev/null || :
nft -f - <<'END'
table ip dockerlike {
	chain pre {
		type nat hook prerouting priority -100; policy accept;
		fib daddr type local tcp dport 8080 dnat to 10.0.100.52:8080
	}
}
END`

// TestAccPortsOfOthersStayTheirs has rules of Kubernetes and of Docker lead ports to one guest, and exposes another: at none of these ports,
// and at one that is chosen, by way of a guest whose gateway the machine is not.
func TestAccPortsOfOthersStayTheirs(t *testing.T) {
	acctest.InSandbox(t)
	node := acctest.KnownServiceNodes(t, 1)[0]
	acctest.Guest(t, "first", firstIP, "10.0.100.254", "tcp:8080")
	acctest.Guest(t, "second", secondIP, inside, "tcp:8080")
	t.Cleanup(func() {
		_, _ = acctest.Try(context.Background(), "svc-1", "sh", "-c", "nft delete table ip dockerlike; nft delete table ip nat; nft delete table ip late; :")
	})
	acctest.On(t, "svc-1", "sh", "-ec", ofOthers)
	acctest.On(t, "hypervisor", "ip", "netns", "exec", "svc-1", "sysctl", "-q", "-w", "net.ipv4.ip_forward=1")
	s := acctest.NewState(t)
	s.DestroyAtEnd()
	exposed := func(attributes string) string {
		return acctest.Provider() + fmt.Sprintf(`
resource "virtcluster_exposed_service" "it" {
  service_node = "ssh://root@%s"
  name         = "it"
  targets      = [%q]
%s
}
`, node, firstIP, attributes)
	}
	const chosen, docker = `type = "node_port"
  ports = { s = { target_port = 8080 } }`, `type = "external_ip"
  address = "` + inside + `"
  ports = { s = { port = 8080 } }`
	s.Write(exposed(strings.Replace(chosen, "target_port", "port = 31455, target_port", 1)))
	s.Refused([]string{"Port in use", "KUBE-NODEPORTS -p tcp", "--dport 31455", "on main.tf"}, "plan")
	s.Write(exposed(docker))
	s.Refused([]string{"Port in use", "table ip dockerlike of nftables", "tcp port 8080 of " + inside}, "plan")
	s.Apply(exposed(chosen))
	s.Settled()
	answers := func(address, want string) {
		t.Helper()
		if got, err := acctest.Ask(t, "lan-client", "tcp", address); got != want {
			t.Errorf("%s says %q (%v), want %q", address, got, err, want)
		}
	}
	answers(exposing+":30001", "first "+inside) // which sees the machine, so that its answer comes back
	for _, port := range []string{"31455", "30000", "8080"} {
		answers(exposing+":"+port, "second "+lan)
	}
	s.Apply(exposed(chosen + "\n  masquerade = false"))
	answers(exposing+":30001", "")

	// What HAProxy carries is lost to a rule that comes later: it does not serve any more, and the plan says who does.
	balanced := strings.Replace(exposed(`type = "load_balancer"
  address = "`+exposing+`"
  ports = { s = { port = 8081, target_port = 8080 } }`), fmt.Sprintf("%q", "ssh://root@"+node), "virtcluster_service_node.edge.id", 1) + fmt.Sprintf(`
resource "virtcluster_service_node" "edge" {
  endpoint = "ssh://root@%s"
  services = ["haproxy", "nftables"]
}
`, node)
	s.Apply(balanced)
	s.Settled()
	answers(exposing+":8081", "first "+inside)
	acctest.On(t, "svc-1", "sh", "-ec", "nft add table ip late; nft add chain ip late pre '{ type nat hook prerouting priority -100; }'; nft add rule ip late pre fib daddr type local tcp dport 8081 dnat to "+secondIP+":8080")
	answers(exposing+":8081", "second "+lan)
	s.Refused([]string{"Port in use", "table ip late of nftables", "tcp port 8081 of " + exposing}, "plan")
	s.Run("apply", "-refresh-only", "-auto-approve")
	if out := s.Run("state", "show", "virtcluster_exposed_service.it"); !strings.Contains(out, "serving           = false") {
		t.Errorf("it serves although a rule leads it away:\n%s", out)
	}
	acctest.On(t, "svc-1", "nft", "delete", "table", "ip", "late")
	s.Run("apply", "-auto-approve")
	s.Settled()
}

// TestAccTheWayBackOfAnswersIsKnown exposes a guest of a network whose gateway the hypervisor is.
func TestAccTheWayBackOfAnswersIsKnown(t *testing.T) {
	acctest.InSandbox(t)
	node := acctest.KnownServiceNodes(t, 1)[0]
	config := func(more string) string {
		return acctest.Provider() + fmt.Sprintf(`
resource "virtcluster_network" "guests" {
  name = "wayback"
  mode = "nat"
  cidr = "10.83.0.0/24"
}
resource "virtcluster_exposed_service" "it" {
  count        = %s
  service_node = "ssh://root@%s"
  name         = "wayback"
  type         = "external_ip"
  address      = "10.19.41.101"
  ports        = { s = { port = 2222, target_port = 22 } }
  targets      = ["10.83.0.51"]
}
`, more, node)
	}
	s := acctest.NewState(t)
	s.DestroyAtEnd()
	s.Apply(config("0"))
	s.Write(config("1"))
	if out := s.Run("plan"); !strings.Contains(out, "Answers take another way") || !strings.Contains(out, "gateway 10.83.0.1") {
		t.Errorf("the plan does not say that answers go elsewhere:\n%s", out)
	}
	s.Write(strings.Replace(config("1"), "targets ", "masquerade = true\n  targets ", 1))
	if out := s.Run("plan"); strings.Contains(out, "Answers take another way") {
		t.Errorf("masqueraded, they come back:\n%s", out)
	}
	s.Write(config("0"))
}
