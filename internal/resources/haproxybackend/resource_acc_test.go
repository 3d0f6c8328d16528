package haproxybackend_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/haproxy/haproxytest"
)

const name = "virtcluster_haproxy_backend.test"

// answerers asks often enough to see every server that gets connections.
func answerers(url string) (string, error) {
	client := http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	seen := map[string]bool{}
	for range 12 {
		resp, err := client.Get(url)
		if err != nil {
			return "", err
		}
		body := make([]byte, 100)
		n, _ := resp.Body.Read(body)
		_ = resp.Body.Close()
		seen[strings.TrimSpace(string(body[:n]))] = true
	}
	var names []string
	for _, n := range []string{"one", "two", "three"} {
		if seen[n] {
			names = append(names, n)
		}
	}
	return strings.Join(names, " "), nil
}

func serves(url, want string) resource.TestCheckFunc {
	return func(*terraform.State) error {
		got, err := answerers(url)
		if err == nil && got != want {
			err = fmt.Errorf("%s is served by %q, want %q", url, got, want)
		}
		return err
	}
}

func TestAccBackendFromCreateToDestroy(t *testing.T) {
	acctest.BothCLIs(t)
	acctest.InSandbox(t)
	node, ip := haproxytest.Node(t)
	ports := []int64{haproxytest.Serve(t, "one", nil), haproxytest.Serve(t, "two", nil), haproxytest.Serve(t, "three", nil)}
	backend := func(settings, servers string) string {
		servers = strings.NewReplacer("$1", server(ports[0]), "$2", server(ports[1]), "$3", server(ports[2])).Replace(servers)
		return acctest.Provider() + fmt.Sprintf(`
resource "virtcluster_haproxy_backend" "test" {
  service_node = %[1]q
  name         = "acc-backend"
  mode         = "tcp"
  %[2]s
  servers = {
    %[3]s
  }
}
resource "virtcluster_haproxy_frontend" "test" {
  service_node    = %[1]q
  name            = "acc-backend"
  mode            = "tcp"
  binds           = [{ port = 8091 }]
  default_backend = virtcluster_haproxy_backend.test.name
}`, node, settings, servers)
	}
	const settings = `
  http_check     = { uri = "/readyz", expect = "status 200" }
  default_server = { inter = "500ms", fall = 2, rise = 1 }
  timeouts       = { server = "90s" }
  options        = ["log-health-checks"]`
	url := "http://" + ip + ":8091/"
	two := backend(settings, "one = { $1, check = true }\n two = { $2, check = true, weight = 10 }")
	update := resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectResourceAction(name, plancheck.ResourceActionUpdate)}}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			{Config: two, Check: resource.ComposeAggregateTestCheckFunc(
				serves(url, "one two"),
				resource.TestCheckResourceAttr(name, "id", node+"#backend/acc-backend"),
				resource.TestCheckNoResourceAttr(name, "balance"),
				resource.TestCheckResourceAttr(name, "servers.one.state", "ready"),
				resource.TestCheckNoResourceAttr(name, "servers.one.weight"),
			)},
			{ResourceName: name, ImportState: true, ImportStateVerify: true},
			{ResourceName: name, ImportState: true, ImportStateKind: resource.ImportBlockWithID},
			{
				Config:           backend(settings, "one = { $1, check = true, state = \"drain\", weight = 3 }\n two = { $2, check = true, weight = 10 }\n three = { $3, check = true, backup = false }"),
				ConfigPlanChecks: update,
				Check:            serves(url, "two three"),
			},
			{ResourceName: name, ImportState: true, ImportStateVerify: true},
			{
				Config: strings.Replace(backend(settings, "one = { $1, check = true, backup = true }\n two = { $2, check = true, state = \"maint\" }"), `"90s"`, `"90000ms"`, 1),
				Check:  serves(url, "one"), // the backup, for nobody else is left
			},
			{
				PreConfig: func() {
					acctest.On(t, "svc-1", "sed", "-i", `/^backend acc/,/^$/ { s/server two .*/server two 192.0.2.1:7 disabled/; s/inter 500ms/inter 7s/ }`, "/etc/haproxy/haproxy.cfg")
				},
				RefreshState: true, ExpectNonEmptyPlan: true,
				Check: resource.ComposeAggregateTestCheckFunc(
					resource.TestCheckResourceAttr(name, "servers.two.address", "192.0.2.1"),
					resource.TestCheckNoResourceAttr(name, "servers.two.check"),
					resource.TestCheckResourceAttr(name, "default_server.inter", "7s"),
				),
			},
			{Config: two, ConfigPlanChecks: update, Check: serves(url, "one two")},
			{
				Config:      strings.Replace(two, "log-health-checks", "httpchkk", 1),
				ExpectError: regexp.MustCompile(`(?s)unknown\s+option 'httpchkk'.*in backend "acc-backend": option httpchkk`),
			},
			{Config: two, PlanOnly: true, PreConfig: func() {
				if got, err := answerers(url); got != "one two" {
					t.Errorf("after a refused change: %q, %v", got, err)
				}
			}},
			{
				Config: two + fmt.Sprintf("\nresource \"virtcluster_haproxy_backend\" \"copy\" {\n  service_node = %q\n  name = \"acc-backend\"\n}", node), PlanOnly: true,
				ExpectError: regexp.MustCompile(`(?s)Name taken.*another\s+resource\s+of\s+this\s+configuration\s+provides\s+the\s+backend\s+"acc-backend"`),
			},
			{Config: backend(`extra_config = "balance source"`, "one = { $1 }"), ExpectError: regexp.MustCompile(`(?s)write\s+"balance\s+source"\s+as\s+balance`)},
			{Config: backend(`extra_config = "frontend x"`, "one = { $1 }"), ExpectError: regexp.MustCompile(`(?s)begins\s+a\s+section\s+of\s+its\s+own`)},
			{Config: backend(``, "one = { address = \"10.0.0\", port = 0 }"), ExpectError: regexp.MustCompile(`(?s)write\s+a\s+number\s+from\s+1\s+to\s+65535`)},
			{Config: two},
		},
	})
}

func server(port int64) string {
	return fmt.Sprintf("address = %q, port = %d", haproxytest.Gateway, port)
}
