package faults

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// labelsOf prints mode, owner, SELinux label and name of the files that the provider changes, or has to do with.
const labelsOf = `find /etc/haproxy /etc/bind /etc/keepalived /etc/hosts /var/lib/virtcluster /etc/virtcluster -printf '%M %u:%g %Z %p\n' 2>/dev/null | sort -k4`

// TestAccFilesKeepTheirSELinuxLabels has a machine whose kernel knows labels, which the sandbox's containers cannot have: what a person
// labelled keeps that through changes and back, and what is new has the label that the machine's policy gives it.
func TestAccFilesKeepTheirSELinuxLabels(t *testing.T) {
	acctest.InSandbox(t)
	disk, err := exec.Command("./selinux-disk").Output()
	if err != nil {
		t.Fatalf("the disk is made outside of the sandbox, by test/faults/selinux-disk: %v", err)
	}
	dir := disksOf(t, "selinux", strings.TrimSpace(string(disk)))
	s := acctest.NewState(t)
	s.DestroyAtEnd()
	machine := serviceGuest(t, "selinux", dir, "10.75.0.5")
	s.Apply(machine)
	if said := answers(t, "10.75.0.5", "getenforce; id -Z; systemctl is-system-running --wait || true"); !strings.HasPrefix(said, "Permissive\n") {
		t.Fatalf("the guest knows no SELinux: %s", said)
	}
	inside := func(script string) string {
		t.Helper()
		out, err := inGuest(t.Context(), "10.75.0.5", script)
		if err != nil {
			t.Fatalf("%s: %v: %s", script, err, out)
		}
		return out
	}
	// A person's labels, which are not those of the policy, and one of the policy's.
	inside("chcon -t usr_t /etc/haproxy/haproxy.cfg /etc/bind/named.conf.local && chcon -t user_home_t /etc/hosts && restorecon /etc/bind/named.conf")
	before := inside(labelsOf)
	for _, want := range []string{"usr_t:s0 /etc/haproxy/haproxy.cfg", "user_home_t:s0 /etc/hosts", "named_conf_t:s0 /etc/bind/named.conf\n"} {
		if !strings.Contains(before+"\n", want) {
			t.Fatalf("no %q in\n%s", want, before)
		}
	}
	full := machine + `
resource "virtcluster_service_node" "s" {
  endpoint   = "ssh://root@10.75.0.5"
  services   = ["bind", "haproxy"]
  depends_on = [virtcluster_node.guest]
}
resource "virtcluster_haproxy_backend" "api" {
  service_node = virtcluster_service_node.s.id
  name         = "api"
  servers      = { a = { address = "10.75.0.9", port = 6443 } }
}
resource "virtcluster_dns_zone" "z" {
  service_node = virtcluster_service_node.s.id
  name         = "selinux.example"
  name_servers = ["api"]
  records      = { api = { A = ["10.75.0.9"] } }
}
resource "virtcluster_hosts_file" "h" {
  host    = virtcluster_service_node.s.id
  name    = "selinux"
  entries = { "10.75.0.9" = ["api.selinux.example"] }
}
`
	s.Apply(full)
	s.Settled()
	during := inside(labelsOf)
	t.Log(during)
	for _, want := range []string{"usr_t:s0 /etc/haproxy/haproxy.cfg", "user_home_t:s0 /etc/hosts"} {
		if !strings.Contains(during+"\n", want) {
			t.Errorf("no %q in\n%s", want, during)
		}
	}
	// What restorecon would still change are the person's labels alone.
	if wrong := inside("restorecon -n -v -R /etc/haproxy /etc/bind /etc/hosts /var/lib/virtcluster | grep -v -e ' /etc/haproxy/haproxy.cfg ' -e ' /etc/bind/named.conf.local ' -e ' /etc/hosts ' || true"); wrong != "" {
		t.Errorf("labels that are not the policy's:\n%s", wrong)
	}
	s.Apply(machine)
	if after := inside(labelsOf); after != before {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
}
