package timeserver_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

func config(node, more string) string {
	return acctest.Provider() + fmt.Sprintf(`
resource "virtcluster_service_node" "it" {
  endpoint = "ssh://root@%s"
  services = ["chrony"]
}
resource "virtcluster_time_server" "it" {
  service_node = virtcluster_service_node.it.id
  %s
}
`, node, more)
}

// answers has a chronyd on svc-2 ask for the time, once, and leave its own clock alone.
func answers(t *testing.T, node string, stratum string) resource.TestCheckFunc {
	return func(*terraform.State) error {
		out, err := acctest.Try(t.Context(), "svc-2", "chronyd", "-x", "-Q", "-t", "8", "-f", "/dev/null", "server "+node+" iburst maxsamples 1")
		if (err == nil) != (stratum != "") {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	}
}

func TestAccTimeServerLife(t *testing.T) {
	acctest.BothCLIs(t)
	acctest.InSandbox(t)
	node := acctest.KnownServiceNodes(t, 2)[0]
	leavesNothing := acctest.LeavesNothing(t, "svc-1", "/etc/chrony /var/lib/virtcluster*", "systemctl is-active chrony; systemctl is-enabled chrony; ss -Hlun 'sport = :123'; :")
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		CheckDestroy:             leavesNothing,
		Steps: []resource.TestStep{
			{Config: config(node, `clients = ["10.0.0.1"]`), PlanOnly: true, ExpectError: regexp.MustCompile("Invalid prefix")},
			{Config: config(node, `clients = []`), PlanOnly: true, ExpectError: regexp.MustCompile("(?i)at least one|empty")},
			{Config: config(node, `clients = ["10.0.100.0/24"]`), Check: answers(t, node, "10")},
			{ResourceName: "virtcluster_time_server.it", ImportState: true, ImportStateVerify: true},
			{
				PreConfig: func() {
					acctest.On(t, "svc-1", "sed", "-i", "s/10.0.100.0/10.0.101.0/", "/etc/chrony/conf.d/virtcluster.conf")
				},
				Config: config(node, `clients = ["10.0.100.0/24"]`), Check: answers(t, node, "10"),
			},
			{PreConfig: func() { acctest.On(t, "svc-1", "systemctl", "stop", "chrony") }, Config: config(node, `clients = ["10.0.100.0/24"]`), Check: answers(t, node, "10")},
			{PreConfig: func() { acctest.Reboot(t, "svc-1") }, Config: config(node, `clients = ["10.0.100.0/24"]`), Check: answers(t, node, "10")},
			{Config: config(node, `clients = ["10.0.99.0/24"]`), Check: answers(t, node, "")},
			{Config: config(node, "clients = [\"10.0.100.0/24\"]\n upstreams = [\"10.0.100.102\"]\n local_stratum = 0"), Check: func(*terraform.State) error {
				if got := acctest.On(t, "svc-1", "chronyc", "-n", "sources"); !strings.Contains(got, "10.0.100.102") {
					return fmt.Errorf("it asks %s", got)
				}
				return nil
			}},
		},
	})
}

// TestAccTimeServersKeepOneTimeWithoutUplink has two that ask each other and nobody else: one follows the other.
func TestAccTimeServersKeepOneTimeWithoutUplink(t *testing.T) {
	acctest.InSandbox(t)
	nodes := acctest.KnownServiceNodes(t, 2)
	both := acctest.Provider()
	for i, name := range []string{"first", "second"} {
		both += fmt.Sprintf(`
resource "virtcluster_time_server" %q {
  service_node = "ssh://root@%s"
  clients      = ["10.0.100.0/24", "10.19.41.0/24"]
  upstreams    = [%q]
}
`, name, nodes[i], nodes[1-i])
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{{Config: both, Check: func(*terraform.State) error {
			var told string
			for began := time.Now(); time.Since(began) < time.Minute; time.Sleep(time.Second) {
				first, second := acctest.On(t, "svc-1", "chronyc", "-n", "tracking"), acctest.On(t, "svc-2", "chronyc", "-n", "tracking")
				told = first + second
				if strings.Contains(first, "("+nodes[1]+")") != strings.Contains(second, "("+nodes[0]+")") && strings.Contains(told, "7F7F0101") {
					return nil
				}
			}
			return fmt.Errorf("neither follows the other, or each the other: %s", told)
		}}},
	})
}
