package faults

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// installFirewall installs a firewall on a machine of the sandbox and has it refuse all but SSH, until the test is over.
func installFirewall(t *testing.T, machine, name string, f firewallOfMachine) {
	t.Helper()
	putDebs(t, machine, name)
	t.Cleanup(func() {
		if out, err := acctest.Try(context.Background(), machine, "sh", "-c", f.remove+"; rm -rf /srv/debs; :"); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	})
	acctest.On(t, machine, "sh", "-c", "DEBIAN_FRONTEND=noninteractive dpkg -i /srv/debs/*.deb >/srv/dpkg.log 2>&1 || { cat /srv/dpkg.log; exit 1; }; "+f.setUp)
}

// comesThrough says whether what hv-2 sends from an address comes to a program of hv-1 at the tunnels' port. It goes there by the network that is not the
// underlay: tunnels are taken by the user-space datapath before a firewall sees them, and by the kernel's after that.
func comesThrough(t *testing.T, source string) bool {
	t.Helper()
	const receive = `import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("10.0.100.11", 6081))
s.settimeout(3)
try: print(s.recvfrom(9)[1][0])
except TimeoutError: pass`
	const send = `import socket, sys, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind((sys.argv[1], 0))
for _ in range(25):
    s.sendto(b"tunnel", ("10.0.100.11", 6081))
    time.sleep(0.1)`
	received := make(chan string)
	go func() {
		out, err := acctest.Try(t.Context(), "hv-1", "python3", "-c", receive)
		if err != nil {
			t.Errorf("receive: %v: %s", err, out)
		}
		received <- strings.TrimSpace(out)
	}()
	acctest.On(t, "hv-2", "python3", "-c", send, source)
	return <-received == source
}

// connects says whether a machine connects to a TCP port of hv-1.
func connects(machine, port string) bool {
	_, err := acctest.Try(context.Background(), machine, "timeout", "2", "bash", "-c", "exec 3<>/dev/tcp/10.0.100.11/"+port)
	return err == nil
}

// TestAccOVNBesideFirewalls brings OVN up on a machine where a real firewall refuses all but SSH: it lets the databases and the tunnels through by rules of
// its own, those of a cluster of databases to its machines only, has them again after a reload and after a person took one away, and leaves the firewall as it
// was.
func TestAccOVNBesideFirewalls(t *testing.T) {
	acctest.InSandbox(t)
	acctest.Hypervisors(t, 3)
	on := func(central ...string) string {
		return acctest.Provider() + fmt.Sprintf(`
resource "virtcluster_ovn" "lab" {
  central  = ["%[3]s"]
  datapath = "userspace"
  chassis = {
    hv1 = { endpoint = %[1]q, tunnel_ip = "172.16.0.11" }
    hv2 = { endpoint = %[2]q, tunnel_ip = "172.16.0.12" }
  }
}
`, acctest.Endpoint("hv-1"), acctest.Endpoint("hv-2"), strings.Join(central, `", "`))
	}
	config, three := on(acctest.Endpoint("hv-1")), on(acctest.Endpoint("hv-1"), acctest.Endpoint("hv-2"), acctest.Endpoint("hv-3"))
	for name, f := range firewalls {
		t.Run(name, func(t *testing.T) {
			installFirewall(t, "hv-1", name, f)
			own := map[string]struct{ persons, list, revoke, take string }{
				"ufw": {"ufw allow from 172.16.0.99 to any port 6081 proto udp", "ufw show added", "ufw delete allow from 172.16.0.99 to any port 6081 proto udp", "ufw --force delete allow 6642/tcp"},
				"firewalld": {
					"firewall-cmd --zone=public --add-port=6081/udp; firewall-cmd --permanent --zone=public --add-port=6081/udp", "firewall-cmd --list-all-zones; firewall-cmd --permanent --list-all-zones",
					"firewall-cmd --zone=public --remove-port=6081/udp; firewall-cmd --permanent --zone=public --remove-port=6081/udp", `firewall-cmd --zone=public --remove-rich-rule='rule priority="-6642" port port="6642" protocol="tcp" accept'`,
				},
			}[name]
			acctest.On(t, "hv-1", "sh", "-ec", own.persons)
			before := acctest.On(t, "hv-1", "sh", "-c", own.list)
			s := acctest.NewState(t)
			s.DestroyAtEnd()
			s.Apply(config)
			s.Settled()
			during := acctest.On(t, "hv-1", "sh", "-c", own.list)
			if !strings.Contains(during, "172.16.0.12") || !strings.Contains(during, "6642") {
				t.Errorf("%s has no rules for chassis and databases:\n%s", name, during)
			}
			acctest.On(t, "hv-1", "sh", "-c", f.reload)
			s.Settled()
			acctest.On(t, "hv-1", "sh", "-c", own.take)
			plan, _ := s.Try("plan", "-detailed-exitcode")
			if !strings.Contains(plan, "Shut by a firewall") || !strings.Contains(plan, "6642") {
				t.Errorf("a rule that is gone does not show:\n%s", plan)
			}
			s.Run("apply", "-auto-approve")
			s.Settled()

			acctest.On(t, "hv-1", "sh", "-ec", own.revoke)
			if !comesThrough(t, "172.16.0.12") || comesThrough(t, "10.0.100.12") {
				t.Errorf("%s does not let through what the other chassis sends, or what others do:\n%s", name, acctest.On(t, "hv-1", "sh", "-c", own.list))
			}
			s.Apply(three)
			s.Settled()
			for _, port := range []string{"6641", "6643", "6644", "16642"} {
				if !connects("hv-3", port) || connects("hypervisor", port) {
					t.Errorf("%s does not let the other databases to port %s, or lets others:\n%s", name, port, acctest.On(t, "hv-1", "sh", "-c", own.list))
				}
			}
			if !connects("hypervisor", "6642") {
				t.Errorf("%s does not let chassis to the databases:\n%s", name, acctest.On(t, "hv-1", "sh", "-c", own.list))
			}
			s.Apply(config)
			acctest.On(t, "hv-1", "sh", "-ec", own.persons)
			s.Run("destroy", "-auto-approve")
			if after := acctest.On(t, "hv-1", "sh", "-c", own.list); after != before {
				t.Errorf("%s has now:\n%s\nbefore:\n%s", name, after, before)
			}
			acctest.On(t, "hv-1", "sh", "-ec", own.revoke)
		})
	}
}
