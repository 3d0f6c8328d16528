package haproxyfrontend_test

import (
	"fmt"
	"io"
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

// get asks a URL and says what came back.
func get(url string) (string, error) {
	client := http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Get(url)
	if err != nil {
		return "", err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	return strings.TrimSpace(string(body)), err
}

func answers(url, want string) resource.TestCheckFunc {
	return func(*terraform.State) error {
		got, err := get(url)
		if err == nil && got != want {
			err = fmt.Errorf("GET %s: %q, want %q", url, got, want)
		}
		return err
	}
}

func TestAccFrontendFromCreateToDestroy(t *testing.T) {
	acctest.BothCLIs(t)
	acctest.InSandbox(t)
	node, ip := haproxytest.Node(t)
	one, two := haproxytest.Serve(t, "one", nil), haproxytest.Serve(t, "two", nil)
	config := func(frontend string) string {
		return acctest.Provider() + fmt.Sprintf(`
resource "virtcluster_haproxy_backend" "one" {
  service_node = %[3]q
  name         = "acc-one"
  mode         = "tcp"
  servers      = { s1 = { address = %[4]q, port = %[1]d } }
}
resource "virtcluster_haproxy_backend" "two" {
  service_node = %[3]q
  name         = "acc-two"
  mode         = "tcp"
  servers      = { s1 = { address = %[4]q, port = %[2]d } }
}
resource "virtcluster_haproxy_frontend" "test" {
  service_node = %[3]q
  name         = "acc"
  mode         = "tcp"
  %[5]s
}`, one, two, node, haproxytest.Gateway, frontend)
	}
	first := config(`
  binds = [
    { port = 8080 },
    { address = "10.0.100.250", port = 8080 },
    { address = "2001:DB8:0::250", port = 8080, options = ["tfo"] },
  ]
  timeouts        = { client = "60s" }
  options         = ["tcplog"]
  default_backend = virtcluster_haproxy_backend.one.name`)
	second := config(`
  binds = [
    { address = "10.0.100.250", port = 8080 },
    { address = "0.0.0.0", port = 8080 },
  ]
  timeouts     = { client = "60000ms" }
  maxconn      = 100
  acls         = { inside = "src 10.0.100.0/24\nsrc 192.0.2.0/24" }
  extra_config = <<-EOT
    # reject what is not from here
    tcp-request connection reject unless inside
  EOT
  rules           = [{ backend = virtcluster_haproxy_backend.two.name, if = "inside" }]
  default_backend = virtcluster_haproxy_backend.one.name`)
	name := "virtcluster_haproxy_frontend.test"
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			{
				Config: first,
				Check: resource.ComposeAggregateTestCheckFunc(
					answers("http://"+ip+":8080/", "one"),
					resource.TestCheckResourceAttr(name, "id", node+"#frontend/acc"),
					resource.TestCheckResourceAttr(name, "binds.0.address", "*"),
					resource.TestCheckResourceAttr(name, "binds.0.transparent", "false"),
					resource.TestCheckResourceAttr(name, "binds.1.transparent", "true"),
					listens(t, "10.0.100.250:8080"), listens(t, "[2001:db8::250]:8080"),
				),
			},
			{ResourceName: name, ImportState: true, ImportStateVerify: true, ImportStateVerifyIgnore: []string{"binds.2.address", "timeouts.client"}},
			{
				Config: second,
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
					plancheck.ExpectResourceAction(name, plancheck.ResourceActionUpdate),
				}},
				Check: answers("http://"+ip+":8080/", "two"),
			},
			{
				PreConfig: func() {
					acctest.On(t, "svc-1", "sed", "-i", "/^frontend acc/,/^$/ { s/maxconn 100/maxconn 7/; s/timeout client .*/timeout client 1m/ }", "/etc/haproxy/haproxy.cfg")
				},
				Config: second,
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
					plancheck.ExpectResourceAction(name, plancheck.ResourceActionUpdate),
				}},
				Check: resource.TestCheckResourceAttr(name, "maxconn", "100"),
			},
			{
				Config:      strings.Replace(second, "maxconn      = 100", `options = ["tcplogg"]`, 1),
				ExpectError: regexp.MustCompile(`(?s)unknown\s+option 'tcplogg'.*in frontend "acc": option tcplogg`),
			},
			{Config: second, PlanOnly: true, PreConfig: func() {
				if got, err := get("http://" + ip + ":8080/"); got != "two" {
					t.Errorf("after a refused change: %q, %v", got, err)
				}
			}},
			{Config: strings.Replace(second, `mode         = "tcp"
  
  binds`, `mode         = "udp"
  binds`, 1), ExpectError: regexp.MustCompile(`not "udp"`)},
			{
				Config:      strings.Replace(second, `virtcluster_haproxy_backend.one.name`, `"acc-none"`, 1),
				ExpectError: regexp.MustCompile(`(?s)no\s+backend\s+"acc-none".*write\s+a\s+reference`),
			},
			{
				Config: second + fmt.Sprintf(`
resource "virtcluster_haproxy_frontend" "other" {
  service_node    = %q
  name            = "acc-other"
  binds           = [{ address = "10.0.100.250", port = 8080 }]
  default_backend = virtcluster_haproxy_backend.one.name
}`, node),
				ExpectError: regexp.MustCompile(`(?s)HAProxy\s+frontend\s+"acc(-other)?".*listens\s+at\s+10.0.100.250:8080\s+already`),
			},
			{Config: strings.Replace(second, `    { address = "0.0.0.0", port = 8080 },`, `    { address = "10.0.100.250", port = 70000 },`, 1), ExpectError: regexp.MustCompile(`write\s+a\s+number\s+from\s+1\s+to\s+65535,\s+not\s+70000`)},
			{Config: second},
		},
	})
}

// A replacement is planned twice, and two resources that say the same once each.
func TestAccTwoFrontendsOfOneNameFailThePlanAndAReplacementDoesNot(t *testing.T) {
	acctest.InSandbox(t)
	node, _ := haproxytest.Node(t)
	config := func(input, more string) string {
		return acctest.Provider() + fmt.Sprintf(`
resource "terraform_data" "trigger" { input = %[2]q }
resource "virtcluster_haproxy_frontend" "one" {
  service_node = %[1]q
  name         = "acc-one"
  mode         = "http"
  binds        = [{ port = 8080 }]
  monitor_uri  = "/up"
  lifecycle { replace_triggered_by = [terraform_data.trigger] }
}`, node, input) + more
	}
	other := fmt.Sprintf(`
resource "virtcluster_haproxy_frontend" "two" {
  service_node = %q
  name         = "acc-one"
  binds        = [{ port = 8081 }]
}`, node)
	taken := regexp.MustCompile(`(?s)Name taken.*another\s+resource\s+of\s+this\s+configuration\s+provides\s+the\s+frontend\s+"acc-one"`)
	base := fmt.Sprintf(`
resource "virtcluster_haproxy" "a" { service_node = %[1]q }
resource "virtcluster_haproxy" "b" { service_node = %[1]q }`, node)
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			{Config: config("a", other), PlanOnly: true, ExpectError: taken},
			{Config: config("a", base), PlanOnly: true, ExpectError: regexp.MustCompile(`(?s)Two base configurations.*a\s+service\s+node\s+has\s+one`)},
			{Config: config("a", "")},
			{Config: config("a", other), PlanOnly: true, ExpectError: taken},
			{
				Config: config("b", ""),
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
					plancheck.ExpectResourceAction("virtcluster_haproxy_frontend.one", plancheck.ResourceActionDestroyBeforeCreate),
				}},
			},
		},
	})
}

func listens(t *testing.T, endpoint string) resource.TestCheckFunc {
	return func(*terraform.State) error {
		if out := acctest.On(t, "svc-1", "ss", "-Hltn"); !strings.Contains(out, endpoint+" ") {
			return fmt.Errorf("nothing listens at %s:\n%s", endpoint, out)
		}
		return nil
	}
}

func TestAccAPersonsFrontendIsImportedAndNotTakenOver(t *testing.T) {
	acctest.BothCLIs(t)
	acctest.InSandbox(t)
	node, ip := haproxytest.Node(t)
	acctest.On(t, "svc-1", "cp", "/etc/haproxy/haproxy.cfg", "/tmp/haproxy.cfg")
	t.Cleanup(func() {
		haproxytest.Cleanup(t, "cp", "/tmp/haproxy.cfg", "/etc/haproxy/haproxy.cfg")
		haproxytest.Cleanup(t, "systemctl", "restart", "haproxy")
	})
	acctest.On(t, "svc-1", "sh", "-c", `printf '%s\n' "" "# by hand" "frontend mine" " bind *:8081" " monitor-uri /ping" " mode http" "# the end" >> /etc/haproxy/haproxy.cfg
		printf '%s\n' "listen both" " bind *:8082" " mode http" " monitor-uri /both" >> /etc/haproxy/haproxy.cfg; systemctl restart haproxy`)
	config := acctest.Provider() + fmt.Sprintf(`
resource "virtcluster_haproxy_frontend" "mine" {
  service_node = %q
  name         = "mine"
  mode         = "http"
  binds        = [{ port = 8081 }]
  monitor_uri  = "/ping"
}`, node)
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			{Config: config, PlanOnly: true, ExpectError: regexp.MustCompile(`(?s)Name taken.*did\s+not\s+write\s+it:\s+import\s+it.*#frontend/mine`)},
			{Config: strings.Replace(config, `"mine"
  mode`, `"both"
  mode`, 1), PlanOnly: true, ExpectError: regexp.MustCompile(`(?s)Name taken.*"listen\s+both"\s+already,\s+which\s+is\s+a\s+frontend\s+of\s+that\s+name\s+too`)},
			{
				Config: config, ResourceName: "virtcluster_haproxy_frontend.mine", ImportState: true,
				ImportStateId: node + "#frontend/mine", ImportStatePersist: true,
			},
			{Config: config, PlanOnly: true},
			{
				Config: strings.Replace(config, "/ping", "/pong", 1),
				Check: func(*terraform.State) error {
					if out := acctest.On(t, "svc-1", "tail", "-n", "11", "/etc/haproxy/haproxy.cfg"); !strings.Contains(out, "# by hand") || !strings.Contains(out, "# the end") {
						return fmt.Errorf("a person's comments are lost:\n%s", out)
					}
					body, err := get("http://" + ip + ":8081/pong")
					if err == nil && !strings.Contains(body, "200 OK") {
						err = fmt.Errorf("the monitor answers %q", body)
					}
					return err
				},
			},
		},
	})
}
