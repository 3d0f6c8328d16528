package hostsfile_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

func config(host, name, entries string) string {
	return fmt.Sprintf(`
resource "virtcluster_hosts_file" %[2]q {
  host    = %[1]q
  name    = %[2]q
  entries = { %[3]s }
}
`, host, name, entries)
}

// resolves asks the machine's own resolver, as every program on it does.
func resolves(t *testing.T, machine, name, address string) resource.TestCheckFunc {
	return func(*terraform.State) error {
		if got, err := acctest.Try(t.Context(), machine, "getent", "-s", "files", "hosts", name); err != nil || !strings.HasPrefix(got, address+" ") {
			return fmt.Errorf("%s resolves %s to %q, want %s", machine, name, got, address)
		}
		return nil
	}
}

func TestAccHostsFileLife(t *testing.T) {
	acctest.BothCLIs(t)
	acctest.InSandbox(t)
	node := acctest.KnownServiceNodes(t, 1)[0]
	for machine, host := range map[string]string{"svc-1": "ssh://root@" + node, "hypervisor": "local:"} {
		t.Run(machine, func(t *testing.T) {
			look := func() string {
				return acctest.On(t, machine, "sh", "-c", "stat -L -c '%a %U %G' /etc/hosts; cat /etc/hosts")
			}
			before := look()
			first := config(host, "okd", `"10.0.0.100" = ["api.hosts.example", "api-int.hosts.example"], "2001:DB8::0:1" = ["six.hosts.example"]`)
			other := config(host, "other", `"10.0.0.7" = ["seven.example"]`)
			resource.Test(t, resource.TestCase{
				ProtoV6ProviderFactories: acctest.Providers,
				CheckDestroy: func(*terraform.State) error {
					if after := look(); after != before {
						return fmt.Errorf("left:\n%s\nbefore:\n%s", after, before)
					}
					return nil
				},
				Steps: []resource.TestStep{
					{Config: acctest.Provider() + config(host, "okd", `"10.0.0" = ["x"]`), PlanOnly: true, ExpectError: regexp.MustCompile("Invalid address")},
					{Config: acctest.Provider() + config(host, "okd", `"10.0.0.1" = ["x y"]`), PlanOnly: true, ExpectError: regexp.MustCompile("Invalid host name")},
					{Config: acctest.Provider() + config(host, "okd", `"10.0.0.1" = []`), PlanOnly: true, ExpectError: regexp.MustCompile("No name")},
					{Config: acctest.Provider() + first, Check: resource.ComposeTestCheckFunc(resolves(t, machine, "api-int.hosts.example", "10.0.0.100"), resolves(t, machine, "six.hosts.example", "2001:db8::1"))},
					{Config: acctest.Provider() + first + other, Check: resolves(t, machine, "seven.example", "10.0.0.7")},
					{ResourceName: "virtcluster_hosts_file.other", ImportState: true, ImportStateVerify: true},
					{
						PreConfig: func() {
							acctest.On(t, machine, "sh", "-c", `sed 's/^10.0.0.7 .*/10.0.0.8 seven.example/' /etc/hosts >/tmp/hosts && cat /tmp/hosts >/etc/hosts && rm /tmp/hosts`)
						},
						Config: acctest.Provider() + first + other, Check: resolves(t, machine, "seven.example", "10.0.0.7"),
					},
					{Config: acctest.Provider() + config(host, "okd", `"10.0.0.101" = ["api.hosts.example"]`), Check: resolves(t, machine, "api.hosts.example", "10.0.0.101")},
					{Config: acctest.Provider() + config(host, "okd", "")},
				},
			})
		})
	}
}

func TestAccHostsFileBlockOfAnotherStateIsRefused(t *testing.T) {
	acctest.InSandbox(t)
	node := acctest.KnownServiceNodes(t, 1)[0]
	host := "ssh://root@" + node
	theirs := "# BEGIN virtcluster okd owner=somebody workspace=elsewhere\n10.0.0.9 nine.example\n# END virtcluster okd\n"
	acctest.On(t, "svc-1", "sh", "-c", "cp /etc/hosts /tmp/hosts; printf '%s' '"+theirs+"' >>/etc/hosts")
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			{Config: acctest.Provider() + config(host, "okd", `"10.0.0.1" = ["one.example"]`), ExpectError: regexp.MustCompile(`(?s)another\s+state.*import\s+it\s+as`)},
		},
	})
	if now := acctest.On(t, "svc-1", "cat", "/etc/hosts"); !strings.Contains(now, strings.TrimSpace(theirs)) {
		t.Errorf("another state's block is\n%s", now)
	}
	acctest.On(t, "svc-1", "sh", "-c", "cat /tmp/hosts >/etc/hosts; rm /tmp/hosts")
}
