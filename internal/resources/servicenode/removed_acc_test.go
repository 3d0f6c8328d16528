package servicenode_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// TestAccWhatServesStaysKnownAfterItsPackageWasRemoved removes a daemon's package under what it serves: the plan says so without an
// error, an apply installs it again and everything serves, and a destroy without it leaves nothing of the provider's and all of the
// machine's.
func TestAccWhatServesStaysKnownAfterItsPackageWasRemoved(t *testing.T) {
	acctest.InSandbox(t)
	node := acctest.ServiceNodes(t, 1)[0]
	for _, of := range []struct {
		service, name, program, files string
		config                        string
		// serves is a command of the hypervisor that ends well where it does.
		serves string
	}{
		{"haproxy", "haproxy", "haproxy", "/etc/haproxy", `
resource "virtcluster_haproxy_frontend" "f" {
  service_node    = virtcluster_service_node.n.id
  name            = "accgone"
  mode            = "tcp"
  binds           = [{ address = "` + node + `", port = 16443 }]
  default_backend = virtcluster_haproxy_backend.b.name
}
resource "virtcluster_haproxy_backend" "b" {
  service_node = virtcluster_service_node.n.id
  name         = "accgone"
  mode         = "tcp"
  servers      = { ssh = { address = "` + node + `", port = 22 } }
}
`, "exec 3<>/dev/tcp/" + node + "/16443; head -c4 <&3 | grep -q SSH-"},
		{"bind", "bind9", "named", "/etc/bind", `
resource "virtcluster_dns_view" "v" {
  service_node = virtcluster_service_node.n.id
  name         = "accgone"
}
resource "virtcluster_dns_zone" "z" {
  service_node = virtcluster_service_node.n.id
  view         = virtcluster_dns_view.v.name
  name         = "accgone.example"
  records      = { api = { A = ["192.0.2.7"] } }
}
`, "dig +short +time=2 @" + node + " api.accgone.example | grep -qx 192.0.2.7"},
		{"keepalived", "keepalived", "keepalived", "/etc/keepalived", `
resource "virtcluster_vip" "v" {
  name      = "accgone"
  addresses = ["10.0.100.247/24"]
  members   = { one = { service_node = virtcluster_service_node.n.id, interface = "eth0" } }
}
`, "for i in $(seq 40); do ping -c1 -W1 10.0.100.247 >/dev/null && exit; sleep 0.5; done; false"},
	} {
		t.Run(of.service, func(t *testing.T) {
			// Configuration is no part of the package that is made: what is there stays, as a removal without a purge leaves it.
			remove := strings.NewReplacer("dpkg -L keepalived |", "dpkg -L "+of.name+" | grep -v ^/etc/ |", "dpkg --purge", "dpkg --remove", "command -v keepalived", "command -v "+of.program, "keepalived", of.name).Replace(mirror)
			gone := func(script string) {
				t.Helper()
				acctest.On(t, "svc-1", "sh", "-c", script)
				if out, err := acctest.Try(t.Context(), "svc-1", "sh", "-c", "command -v "+of.program); err == nil {
					t.Fatalf("%s is there still: %s", of.name, out)
				}
			}
			// A package's sample is no configuration, and goes with a package that another test made.
			content := func() string {
				t.Helper()
				return acctest.On(t, "svc-1", "sh", "-c", "mkdir -p "+of.files+"; cd "+of.files+" && find . -type f ! -name '*.sample' -exec stat -c '%n %a %U:%G' {} + -exec sha256sum {} + | sort")
			}
			before := content()
			t.Cleanup(func() {
				if out, err := acctest.Try(context.Background(), "svc-1", "sh", "-c", fmt.Sprintf("command -v %s || dpkg -i /srv/mirror/%s.deb", of.program, of.name)); err != nil {
					t.Errorf("%s is not given back: %v: %s", of.name, err, out)
				}
			})
			s := acctest.NewState(t)
			s.DestroyAtEnd()
			config := acctest.Provider() + fmt.Sprintf("resource \"virtcluster_service_node\" \"n\" {\n  endpoint = \"ssh://root@%s\"\n  services = [%q]\n}\n", node, of.service) + of.config
			serves := func(when string) {
				t.Helper()
				if out, err := acctest.Try(t.Context(), "hypervisor", "timeout", "30", "bash", "-c", of.serves); err != nil {
					t.Errorf("%s: nothing serves: %v: %s", when, err, out)
				}
			}
			s.Apply(config)
			serves("at first")
			s.Settled()
			gone(remove)
			if out := s.Run("plan"); !strings.Contains(out, "virtcluster_service_node.n will be updated in-place") || strings.Contains(out, "must be replaced") || strings.Contains(out, "will be created") {
				t.Errorf("a plan after the package was removed:\n%s", out)
			}
			s.Run("apply", "-auto-approve")
			serves("after an apply")
			s.Settled()
			gone("dpkg --remove --force-depends " + of.name + " >/dev/null 2>&1; true")
			s.Run("destroy", "-auto-approve")
			if after := content(); after != before {
				t.Errorf("a destroy without the package left\n%s\nnot\n%s", after, before)
			}
			if left := acctest.On(t, "svc-1", "sh", "-c", "find /var/lib/virtcluster /etc/systemd/system -name '*virtcluster*' 2>/dev/null; true"); left != "" {
				t.Errorf("left: %s", left)
			}
		})
	}
}
