package faults

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// installFirewall installs a firewall on a machine of the sandbox and has it refuse all but SSH, until the test is over.
func installFirewall(t *testing.T, machine, debs, name string, f firewallOfMachine) {
	t.Helper()
	if out, err := exec.Command("sh", "-c", `tar -C "$1" -cf - . | ../sandbox/on "$2" sh -c 'rm -rf /srv/debs && mkdir -p /srv/debs && tar -C /srv/debs -xf -'`, "sh", debs+"/"+name, machine).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Cleanup(func() {
		if out, err := acctest.Try(context.Background(), machine, "sh", "-c", f.remove+"; rm -rf /srv/debs; :"); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	})
	acctest.On(t, machine, "sh", "-c", "DEBIAN_FRONTEND=noninteractive dpkg -i /srv/debs/*.deb >/srv/dpkg.log 2>&1 || { cat /srv/dpkg.log; exit 1; }; "+f.setUp)
}

// TestAccOVNBesideFirewalls brings OVN up on a machine where a real firewall refuses all but SSH: it lets the databases and the tunnels through by rules of
// its own, has them again after a reload and after a person took one away, and leaves the firewall as it was.
func TestAccOVNBesideFirewalls(t *testing.T) {
	acctest.InSandbox(t)
	acctest.Hypervisors(t, 2)
	debs, err := exec.Command("./firewall-packages").Output()
	if err != nil {
		t.Fatalf("the firewalls' packages are downloaded outside of the sandbox, by test/faults/firewall-packages: %v", err)
	}
	config := acctest.Provider() + fmt.Sprintf(`
resource "virtcluster_ovn" "lab" {
  central  = [%[1]q]
  datapath = "userspace"
  chassis = {
    hv1 = { endpoint = %[1]q, tunnel_ip = "172.16.0.11" }
    hv2 = { endpoint = %[2]q, tunnel_ip = "172.16.0.12" }
  }
}
`, acctest.Endpoint("hv-1"), acctest.Endpoint("hv-2"))
	for name, f := range firewalls {
		t.Run(name, func(t *testing.T) {
			installFirewall(t, "hv-1", strings.TrimSpace(string(debs)), name, f)
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
			s.Run("destroy", "-auto-approve")
			if after := acctest.On(t, "hv-1", "sh", "-c", own.list); after != before {
				t.Errorf("%s has now:\n%s\nbefore:\n%s", name, after, before)
			}
			acctest.On(t, "hv-1", "sh", "-ec", own.revoke)
		})
	}
}
