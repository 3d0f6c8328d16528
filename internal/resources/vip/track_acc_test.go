package vip_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// holder is the machine that alone has an address; "" is none, or more than one.
func holder(t *testing.T, address string) string {
	found := ""
	for _, machine := range []string{"svc-1", "svc-2"} {
		if strings.Contains(acctest.On(t, machine, "ip", "-oneline", "address", "show"), " "+address+"/") {
			if found != "" {
				return ""
			}
			found = machine
		}
	}
	return found
}

// comesTo waits until a machine alone has an address. Where that does not happen, it logs what both machines have and what keepalived did.
func comesTo(t *testing.T, address, machine string) {
	t.Helper()
	defer func() {
		if !t.Failed() {
			return
		}
		for _, each := range []string{"svc-1", "svc-2"} {
			t.Logf("%s:\n%s", each, acctest.On(t, each, "sh", "-c",
				"ip -oneline address show dev eth0; ip neighbour show dev eth0; systemctl --no-pager status keepalived | head -n 5; journalctl --no-pager -u keepalived -n 60 -o short-precise"))
		}
	}()
	acctest.Eventually(t, fmt.Sprintf("%s is not held by %s", address, machine), func() bool { return holder(t, address) == machine })
}

// TestAccWhatIsTrackedMovesTheAddress fails on the owner a script that does not run as root, an interface, and HAProxy,
// which listens on both machines: the backup's one has an address that it does not hold, and so answers the moment it
// does. Tracking a process would take a machine of its own: the kernel tells nobody in a container of those that end.
func TestAccWhatIsTrackedMovesTheAddress(t *testing.T) {
	acctest.InSandbox(t)
	ids := machines(t, 2)
	const address, url, flag = "10.0.100.250", "http://10.0.100.250:6443/alive", "/run/only-for-admin"
	for _, machine := range []string{"svc-1", "svc-2"} {
		acctest.On(t, machine, "sh", "-c", "touch "+flag+" && chmod 400 "+flag+" && chown admin "+flag)
		t.Cleanup(func() { clean(t, machine) })
	}
	config := vip(ids, address+"/24", `
  garp  = { master_delay = 1, master_repeat = 2, master_refresh = 10, master_refresh_repeat = 1, lower_prio_delay = 1, lower_prio_repeat = 1 }
  track = [
    { name = "readable", script = "/usr/bin/test -r `+flag+`", user = "admin", interval = 1, timeout = 2, fall = 2, weight = -50 },
    { name = "haproxy", script = "/usr/bin/systemctl is-active --quiet haproxy" },
    { name = "outside", interface = "eth1" },
  ]
  depends_on = [virtcluster_haproxy_frontend.on_1, virtcluster_haproxy_frontend.on_2]
`)
	for i, id := range ids {
		config += fmt.Sprintf(`
resource "virtcluster_haproxy" "on_%[1]d" {
  service_node = %[2]q
}
resource "virtcluster_haproxy_frontend" "on_%[1]d" {
  service_node = virtcluster_haproxy.on_%[1]d.service_node
  name         = "api"
  mode         = "http"
  monitor_uri  = "/alive"
  binds        = [{ address = %[3]q, port = 6443, transparent = true }]
}
`, i+1, id, address)
	}
	answers := func() {
		if out, err := acctest.Try(t.Context(), "hypervisor", "curl", "-fsS", "--max-time", "2", url); err != nil {
			t.Errorf("%s does not answer: %v: %s", url, err, out)
		}
	}
	// Root reads a file of any owner, so a script that fails for this one does not run as root.
	breaks := []struct{ fail, mend []string }{
		{[]string{"chown", "root", flag}, []string{"chown", "admin", flag}},
		{[]string{"ip", "link", "set", "eth1", "down"}, []string{"ip", "link", "set", "eth1", "up"}},
		{[]string{"systemctl", "stop", "haproxy"}, []string{"systemctl", "start", "haproxy"}},
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			{Config: config, Check: func(*terraform.State) error {
				comesTo(t, address, "svc-1")
				answers()
				for _, machine := range []string{"svc-1", "svc-2"} {
					if sockets := acctest.On(t, machine, "ss", "-Hltn"); !strings.Contains(sockets, address+":6443") {
						return fmt.Errorf("HAProxy on %s does not listen on %s:\n%s", machine, address, sockets)
					}
				}
				return nil
			}},
			{PreConfig: func() {
				for _, b := range breaks {
					acctest.On(t, "svc-1", b.fail...)
					comesTo(t, address, "svc-2")
					answers()
					acctest.On(t, "svc-1", b.mend...)
					comesTo(t, address, "svc-1")
				}
			}, Config: config, PlanOnly: true},
		},
		CheckDestroy: func(*terraform.State) error { return nothingLeft(t, "svc-1", "svc-2") },
	})
}
