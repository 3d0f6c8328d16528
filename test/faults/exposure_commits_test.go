package faults

import (
	"fmt"
	"syscall"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// exposureCommits are what svc-1 has once each of the three commits of an exposure has begun to be live: the pool's that its address is
// drawn from, that of the rules, and HAProxy's.
var exposureCommits = []struct{ about, is string }{
	{"the pool's", `grep -A 1 '"drawn"' /var/lib/virtcluster/addresspool/pools/lan.json | grep -q exposed/web`},
	{"the rules'", "test -e /var/lib/virtcluster/exposure/entries/web.json"},
	{"HAProxy's", "grep -q exposed-web /etc/haproxy/haproxy.cfg"},
}

// killedWhen starts a run, and kills its provider as soon as svc-1 has something, or has it no more.
func killedWhen(t *testing.T, s *acctest.State, about, is string, argv ...string) {
	t.Helper()
	run := s.Start(argv...)
	acctest.On(t, "svc-1", "sh", "-c", "n=0; until "+is+" 2>/dev/null; do n=$((n + 1)); [ $n -lt 6000 ] || exit 1; sleep 0.01; done")
	if err := syscall.Kill(acctest.ProviderOf(t, run.Process.Pid), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := run.Wait(); err == nil {
		t.Fatalf("%s: the run came to its end before its provider was killed:\n%s", about, run.Out.String())
	}
}

// TestAccProviderKilledBetweenTheCommitsOfAnExposure kills it where one of the commits of an apply, or of a destroy, has begun: the next
// run comes to the same end, with the address that was drawn, and nothing is left of a destroy.
func TestAccProviderKilledBetweenTheCommitsOfAnExposure(t *testing.T) {
	acctest.InSandbox(t)
	node := acctest.KnownServiceNodes(t, 1)[0]
	acctest.Guest(t, "behind", "10.0.100.51", "10.0.100.101", "tcp:8080", "udp:5353")
	edge := acctest.Provider() + fmt.Sprintf(`
resource "virtcluster_service_node" "edge" {
  endpoint = "ssh://root@%s"
  services = ["haproxy", "nftables"]
}
resource "virtcluster_address_pool" "lan" {
  service_node = virtcluster_service_node.edge.id
  name         = "lan"
  ranges       = ["10.19.41.232-10.19.41.235"]
}
`, node)
	exposed := edge + `
resource "virtcluster_exposed_service" "web" {
  service_node      = virtcluster_service_node.edge.id
  name              = "web"
  type              = "load_balancer"
  pool              = virtcluster_address_pool.lan.id
  configure_address = true
  ports             = { http = { port = 80, target_port = 8080 }, dns = { port = 53, target_port = 5353, protocol = "udp" } }
  targets           = ["10.0.100.51"]
}
`
	const look = exposureLeft + "; sha256sum /etc/haproxy/haproxy.cfg; grep exposed/web /var/lib/virtcluster/addresspool/pools/lan.json; ls /var/lib/virtcluster/*/journal.json 2>/dev/null; :"
	s := acctest.NewState(t)
	s.DestroyAtEnd()
	s.Apply(edge)
	// Once as it shall be: what HAProxy's file is then, and after a destroy, and that the pool remembers who had its address.
	s.Apply(exposed)
	s.Apply(edge)
	nothing := acctest.On(t, "svc-1", "sh", "-c", look)
	reached := func(when string) {
		t.Helper()
		s.Settled()
		for network, address := range map[string]string{"tcp": "10.19.41.232:80", "udp": "10.19.41.232:53"} {
			t.Run(network, func(t *testing.T) {
				if got, err := acctest.Ask(t, "lan-client", network, address); err != nil {
					t.Errorf("%s %s: %q %v", when, network, got, err)
				}
			})
		}
	}
	for _, commit := range exposureCommits {
		t.Run(commit.about, func(t *testing.T) {
			when := "killed in " + commit.about + " commit of an apply"
			s.Write(exposed)
			killedWhen(t, s, when, commit.is, "apply", "-auto-approve")
			s.Run("apply", "-auto-approve")
			reached(when)
			s.Apply(edge)
			if left := acctest.On(t, "svc-1", "sh", "-c", look); left != nothing {
				t.Errorf("%s: left\n%s\nwhere there was\n%s", when, left, nothing)
			}
		})
	}
	for _, commit := range exposureCommits[1:] {
		when := "killed in " + commit.about + " commit of a destroy"
		s.Apply(exposed)
		reached("before it is " + when)
		s.Write(edge)
		killedWhen(t, s, when, "! "+commit.is, "apply", "-auto-approve")
		s.Run("apply", "-auto-approve")
		if left := acctest.On(t, "svc-1", "sh", "-c", look); left != nothing {
			t.Errorf("%s: left\n%s\nwhere there was\n%s", when, left, nothing)
		}
	}
}
