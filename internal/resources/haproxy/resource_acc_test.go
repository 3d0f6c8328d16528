package haproxy_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"
	"github.com/hashicorp/terraform-plugin-testing/tfversion"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/haproxy/haproxytest"
)

const (
	name   = "virtcluster_haproxy.test"
	secret = `s3cret it's "#1"`
)

// status asks a URL, with a user where there is one.
func status(url, user, password string, want int) resource.TestCheckFunc {
	return func(*terraform.State) error {
		req, err := http.NewRequest(http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		if user != "" {
			req.SetBasicAuth(user, password)
		}
		client := http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
		resp, err := client.Do(req)
		if err != nil {
			return err
		}
		_ = resp.Body.Close()
		if resp.StatusCode != want {
			return fmt.Errorf("GET %s: %s, want %d", url, resp.Status, want)
		}
		return nil
	}
}

func mode(t *testing.T, want string) resource.TestCheckFunc {
	return func(*terraform.State) error {
		if got := acctest.On(t, "svc-1", "stat", "-c", "%a %U:%G", "/etc/haproxy/haproxy.cfg"); got != want {
			return fmt.Errorf("the file's mode is %s, want %s", got, want)
		}
		return nil
	}
}

func base(node, settings string) string {
	return acctest.Provider() + fmt.Sprintf(`
resource "virtcluster_haproxy" "test" {
  service_node = %q
  %s
}`, node, settings)
}

func TestAccBaseFromCreateToDestroy(t *testing.T) {
	acctest.BothCLIs(t)
	acctest.InSandbox(t)
	node, ip := haproxytest.Node(t)
	t.Cleanup(func() {
		if got := haproxytest.Cleanup(t, "stat", "-c", "%a", "/etc/haproxy/haproxy.cfg"); got != "644" {
			t.Errorf("the file's mode is %s after destroy", got)
		}
	})
	full := base(node, `
  maxconn  = 3000
  mode     = "http"
  retries  = 2
  options  = ["log-health-checks", "dontlognull", "no http-keep-alive"]
  timeouts = { client = "2m", http_request = "5s", tunnel = "1h", client_fin = "10s" }
  log      = "/dev/log local0 info"
  health   = { port = 9100, uri = "/up" }
  stats    = { address = "`+ip+`", port = 9101, user = "admin", password = "s3cret it's \"#1\"", refresh = "60s", hide_version = true }
  extra_config          = "tune.ssl.default-dh-param 2048"
  defaults_extra_config = "fullconn 100"`)
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			{Config: base(node, ""), Check: resource.ComposeAggregateTestCheckFunc(
				resource.TestCheckResourceAttr(name, "mode", "tcp"),
				resource.TestCheckResourceAttr(name, "timeouts.connect", "10s"),
				resource.TestCheckResourceAttr(name, "retries", "3"),
				mode(t, "644 root:root"),
			)},
			{ResourceName: name, ImportState: true, ImportStateVerify: true, ImportStateId: node + "#haproxy"},
			{Config: full, Check: resource.ComposeAggregateTestCheckFunc(
				status("http://"+ip+":9100/up", "", "", 200),
				status("http://"+ip+":9101/stats", "", "", 401),
				status("http://"+ip+":9101/stats", "admin", "wrong", 401),
				status("http://"+ip+":9101/stats", "admin", secret, 200),
				mode(t, "640 root:root"),
				func(*terraform.State) error {
					info := acctest.On(t, "svc-1", "sh", "-c", "echo show info | socat - UNIX-CONNECT:/run/haproxy/admin.sock")
					if !strings.Contains(info, "\nMaxconn: 3000\n") {
						return fmt.Errorf("maxconn is not in effect: %s", info)
					}
					return nil
				},
			)},
			{ResourceName: name, ImportState: true, ImportStateVerify: true},
			{ResourceName: name, ImportState: true, ImportStateKind: resource.ImportBlockWithID},
			{
				PreConfig: func() {
					acctest.On(t, "svc-1", "sed", "-i", "s/timeout tunnel 1h/timeout tunnel 2h/; 0,/^global/ s/^global/global\\n\\tmaxconn 5/", "/etc/haproxy/haproxy.cfg")
				},
				RefreshState: true, ExpectNonEmptyPlan: true,
				Check: resource.ComposeAggregateTestCheckFunc(
					resource.TestCheckResourceAttr(name, "timeouts.tunnel", "2h"),
					resource.TestCheckResourceAttr(name, "maxconn", "5"),
				),
			},
			{Config: full, Check: resource.TestCheckResourceAttr(name, "maxconn", "3000")},
			{ // no attribute says this line
				PreConfig:    func() { acctest.On(t, "svc-1", "sed", "-i", "/^ *log global$/d", "/etc/haproxy/haproxy.cfg") },
				RefreshState: true, ExpectNonEmptyPlan: true, Check: resource.TestCheckResourceAttr(name, "serving", "false"),
			},
			{Config: full, Check: resource.TestCheckResourceAttr(name, "serving", "true")},
			{ // The person's line is switched off and comes back on destroy; this test wants Debian's file back.
				PreConfig: func() {
					acctest.On(t, "svc-1", "sed", "-i", "/maxconn 5$/d", "/etc/haproxy/haproxy.cfg")
				},
				Config: full, PlanOnly: true,
			},
			{Config: strings.Replace(full, `tune.ssl.default-dh-param 2048`, `tune.nonsense 1`, 1), ExpectError: regexp.MustCompile(`unknown\s+keyword\s+'tune.nonsense'`)},
			{Config: base(node, `stats = { port = 9101, user = "admin" }`), ExpectError: regexp.MustCompile(`User without a password`)},
			{Config: strings.Replace(full, `"2m"`, `"2 minutes"`, 1), ExpectError: regexp.MustCompile(`write\s+a\s+number\s+and\s+a\s+unit`)},
			{Config: strings.Replace(strings.Replace(full, `port = 9101`, `port = 9100`, 1), `address = "`+ip+`", `, "", 1), ExpectError: regexp.MustCompile(`health\s+listener\s+has`)},
			{Config: full, Check: status("http://"+ip+":9101/stats", "admin", secret, 200)},
		},
	})
}

func TestAccAWriteOnlyPasswordIsNowhereButInTheFile(t *testing.T) {
	acctest.BothCLIs(t)
	acctest.InSandbox(t)
	node, ip := haproxytest.Node(t)
	config := func(password string, version int) string {
		return base(node, fmt.Sprintf(`stats = { port = 9101, user = "admin", password_wo = %q, password_wo_version = %d }`, password, version))
	}
	url := "http://" + ip + ":9101/stats"
	hidden := func(s *terraform.State) error {
		state, err := json.Marshal(s)
		if err != nil {
			return err
		}
		if strings.Contains(string(state), "first-pass") || strings.Contains(string(state), "second-pass") {
			return fmt.Errorf("the password is in state: %s", state)
		}
		if out := acctest.On(t, "svc-1", "sh", "-c", "grep -rl -e first-pass -e second-pass /etc /var/log /run /tmp 2>/dev/null | grep -v ^/etc/haproxy/haproxy.cfg || true"); out != "" {
			return fmt.Errorf("the password is in %s", out)
		}
		if out := acctest.On(t, "svc-1", "sh", "-c", "find / -xdev -type f -perm /o=r -newermt '-5 minutes' -exec grep -l -e first-pass -e second-pass {} + 2>/dev/null || true"); out != "" {
			return fmt.Errorf("the password is in files that the world may read: %s", out)
		}
		if out := acctest.On(t, "svc-1", "sh", "-c", "journalctl --no-pager | grep -e first-pass -e second-pass || true"); out != "" {
			return fmt.Errorf("the password is in the journal: %s", out)
		}
		return nil
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		TerraformVersionChecks:   []tfversion.TerraformVersionCheck{tfversion.SkipBelow(tfversion.Version1_11_0)},
		Steps: []resource.TestStep{
			{Config: config("first-pass", 1), Check: resource.ComposeAggregateTestCheckFunc(
				status(url, "admin", "first-pass", 200), hidden, mode(t, "640 root:root"),
				resource.TestCheckNoResourceAttr(name, "stats.password"), resource.TestCheckNoResourceAttr(name, "stats.password_wo"),
				resource.TestCheckResourceAttr(name, "stats.password_wo_version", "1"),
			)},
			{ResourceName: name, ImportState: true, ImportStateVerify: true},
			{ResourceName: name, ImportState: true, ImportStateKind: resource.ImportBlockWithID},
			// Without a new version the password stays.
			{Config: config("second-pass", 1), Check: status(url, "admin", "first-pass", 200)},
			{Config: config("second-pass", 2), Check: resource.ComposeAggregateTestCheckFunc(
				status(url, "admin", "second-pass", 200), status(url, "admin", "first-pass", 401), hidden,
			)},
			{
				PreConfig: func() {
					acctest.On(t, "svc-1", "sed", "-i", "s/admin:second-pass/admin:changed/", "/etc/haproxy/haproxy.cfg")
				},
				Config:           config("second-pass", 2),
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectResourceAction(name, plancheck.ResourceActionUpdate)}},
				Check:            status(url, "admin", "second-pass", 200),
			},
			{
				Config:      strings.Replace(config("first-pass", 3), "stats = {", "extra_config = \"nonsense first-pass\"\n stats = {", 1),
				ExpectError: regexp.MustCompile(`(?s)unknown\s+keyword\s+'nonsense'.*nonsense\s+\*\*\*`),
			},
		},
	})
}
