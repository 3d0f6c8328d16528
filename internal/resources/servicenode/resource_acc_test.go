package servicenode_test

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

const address = "virtcluster_service_node.test"

func config(endpoint, more string) string {
	return acctest.Provider() + fmt.Sprintf("resource \"virtcluster_service_node\" \"test\" {\n  endpoint = %q\n  %s\n}\n", endpoint, more)
}

// hostKey is a machine's own word for its ed25519 key: the fingerprint and the public key.
func hostKey(t *testing.T, machine string) (fingerprint, public string) {
	t.Helper()
	const file = "/etc/ssh/ssh_host_ed25519_key.pub"
	return strings.Fields(acctest.On(t, machine, "ssh-keygen", "-lf", file))[1], acctest.On(t, machine, "cat", file)
}

// pin is what ids carry of a fingerprint: its first 16 characters, in the base64 of URLs.
func pin(fingerprint string) string {
	return strings.NewReplacer("+", "-", "/", "_").Replace(strings.TrimPrefix(fingerprint, "SHA256:"))[:16]
}

// units describes how enabled and active the services' units are.
func units(t *testing.T, machine string) string {
	t.Helper()
	return acctest.On(t, machine, "systemctl", "show", "--property=Id,UnitFileState,ActiveState",
		"named.service", "haproxy.service", "keepalived.service", "nfs-server.service", "nftables.service")
}

func TestAccServiceNodeLife(t *testing.T) {
	acctest.BothCLIs(t)
	acctest.InSandbox(t)
	node := acctest.ServiceNodes(t, 1)[0]
	fingerprint, public := hostKey(t, "svc-1")
	// What was there before is a mixture: something runs, something is off.
	acctest.On(t, "svc-1", "systemctl", "enable", "--now", "haproxy.service")
	acctest.On(t, "svc-1", "systemctl", "disable", "--now", "named.service")
	before := units(t, "svc-1")
	endpoint := "ssh://root@" + node
	update := resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectResourceAction(address, plancheck.ResourceActionUpdate)}}
	nothing := resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectResourceAction(address, plancheck.ResourceActionNoop)}}

	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		CheckDestroy: func(*terraform.State) error {
			if after := units(t, "svc-1"); after != before {
				return fmt.Errorf("units after:\n%s\nbefore:\n%s", after, before)
			}
			if left, err := acctest.Try(t.Context(), "svc-1", "ls", "-A", "/var/lib/virtcluster"); err == nil {
				return fmt.Errorf("left in /var/lib/virtcluster: %q", left)
			}
			return nil
		},
		Steps: []resource.TestStep{
			{
				Config: config(endpoint, `services = ["bind", "haproxy"]`),
				Check: resource.ComposeAggregateTestCheckFunc(
					resource.TestCheckResourceAttr(address, "host_key", fingerprint),
					resource.TestCheckResourceAttr(address, "id", endpoint+"?host_key="+pin(fingerprint)),
					resource.TestMatchResourceAttr(address, "os", regexp.MustCompile("Debian")),
					resource.TestMatchResourceAttr(address, "versions.haproxy", regexp.MustCompile(`^\d+\.\d+`)),
					resource.TestMatchResourceAttr(address, "versions.bind", regexp.MustCompile(`^9\.\d+`)),
					func(*terraform.State) error {
						acctest.On(t, "svc-1", "systemctl", "is-active", "named.service", "haproxy.service")
						return nil
					},
				),
			},
			{ResourceName: address, ImportState: true, ImportStateVerify: true},
			{ResourceName: address, ImportState: true, ImportStateVerify: true, ImportStateId: endpoint},
			{ResourceName: address, ImportState: true, ImportStateVerify: true, ImportStateId: endpoint + "?host_key=" + url.QueryEscape(fingerprint)}, // the id of versions before
			{Config: config("ssh://root@"+node+":22/", `services = ["haproxy", "bind"]`), ConfigPlanChecks: nothing},
			{Config: config(endpoint, fmt.Sprintf("services = [\"bind\", \"haproxy\"]\n host_key = %q", public)), ConfigPlanChecks: nothing},
			{ // added in place
				Config: config(endpoint, `services = ["bind", "haproxy", "keepalived", "nftables", "nfs"]`), ConfigPlanChecks: update,
				Check: resource.TestMatchResourceAttr(address, "versions.keepalived", regexp.MustCompile(`^2\.`)),
			},
			{ // drift: somebody switched a unit off
				PreConfig: func() { acctest.On(t, "svc-1", "systemctl", "disable", "named.service") },
				Config:    config(endpoint, `services = ["bind", "haproxy", "keepalived", "nftables", "nfs"]`), ConfigPlanChecks: update,
				Check: func(*terraform.State) error {
					acctest.On(t, "svc-1", "systemctl", "is-enabled", "named.service")
					return nil
				},
			},
			{ // dropped in place: as before
				Config: config(endpoint, `services = ["haproxy"]`), ConfigPlanChecks: update,
				Check: func(*terraform.State) error {
					if out, err := acctest.Try(t.Context(), "svc-1", "systemctl", "is-active", "named.service"); err == nil {
						return fmt.Errorf("named is %s", out)
					}
					return nil
				},
			},
		},
	})
}

func TestAccServiceNodeRefusesWrongHostKeys(t *testing.T) {
	acctest.InSandbox(t)
	nodes := acctest.ServiceNodes(t, 2)
	right, _ := hostKey(t, "svc-1")
	wrong, wrongPublic := hostKey(t, "svc-2")
	endpoint := "ssh://root@" + nodes[0]
	both := regexp.MustCompile(`(?s)` + regexp.QuoteMeta(right) + `.*` + regexp.QuoteMeta(wrong))
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			{Config: config(endpoint, fmt.Sprintf("host_key = %q", wrong)), ExpectError: both},
			{Config: config(endpoint, fmt.Sprintf("host_key = %q", wrongPublic)), ExpectError: regexp.MustCompile(`host key`)},
			{Config: config(endpoint, fmt.Sprintf("host_key = %q", right))},
			{ // the machine got another key: both fingerprints, state kept
				PreConfig: func() {
					acctest.On(t, "svc-1", "sh", "-c", "cd /etc/ssh && mkdir kept && mv ssh_host_* kept/ && ssh-keygen -q -A && systemctl restart ssh")
				},
				Config: config(endpoint, ""), ExpectError: regexp.MustCompile(`(?s)is\s+not\s+the\s+expected\s+one.*` + regexp.QuoteMeta(right)),
			},
			{
				PreConfig: func() {
					acctest.On(t, "svc-1", "sh", "-c", "rm /etc/ssh/ssh_host_* && mv /etc/ssh/kept/* /etc/ssh/ && rmdir /etc/ssh/kept && systemctl restart ssh")
				},
				Config: config(endpoint, ""),
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
					plancheck.ExpectResourceAction(address, plancheck.ResourceActionNoop),
				}},
			},
		},
	})
}

func TestAccServiceNodeBadInput(t *testing.T) {
	acctest.BothCLIs(t)
	acctest.InSandbox(t)
	node := acctest.ServiceNodes(t, 1)[0]
	short := `timeouts = { create = "8s" }`
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			{Config: config("http://"+node, ""), PlanOnly: true, ExpectError: regexp.MustCompile(`Invalid endpoint`)},
			{Config: config("ssh://root:secret@"+node, ""), PlanOnly: true, ExpectError: regexp.MustCompile(`password`)},
			{Config: config("ssh://root@"+node+"?proxyjump=x", ""), PlanOnly: true, ExpectError: regexp.MustCompile(`proxy_jump`)},
			{Config: config("ssh://root@"+node, `services = ["dns"]`), PlanOnly: true, ExpectError: regexp.MustCompile(`bind`)},
			{Config: config("ssh://root@"+node, `host_key = "SHA256:tooshort"`), PlanOnly: true, ExpectError: regexp.MustCompile(`43\s+characters`)},
			{Config: config("ssh://root@"+node, `host_key = "MD5:aa"`), PlanOnly: true, ExpectError: regexp.MustCompile(`Invalid host key`)},
			{Config: config("local:", `host_key = "SHA256:uNiVztksCsDhcc0u9e8BrrQXVUpKZIDTMczCvj3tD2s"`), PlanOnly: true, ExpectError: regexp.MustCompile(`No host key here`)},
			{Config: config("ssh://root@"+node+":2222", short), ExpectError: regexp.MustCompile(`(?s)` + regexp.QuoteMeta(node) + `:2222.*refused.*gave\s+up`)},
			{Config: config("ssh://nobody@"+node, short), ExpectError: regexp.MustCompile(`(?s)refuses\s+the\s+login\s+as\s+"nobody"`)},
			{Config: config("ssh://root@10.0.100.250", short), ExpectError: regexp.MustCompile(`10\.0\.100\.250:22`)},
		},
	})
}

func TestAccServiceNodeNamesMissingDaemons(t *testing.T) {
	acctest.InSandbox(t)
	node := acctest.ServiceNodes(t, 1)[0]
	hide := func() { acctest.On(t, "svc-1", "mv", "/usr/sbin/keepalived", "/usr/sbin/keepalived.hidden") }
	show := func() { acctest.Try(t.Context(), "svc-1", "mv", "/usr/sbin/keepalived.hidden", "/usr/sbin/keepalived") }
	defer show()
	services := `services = ["haproxy", "keepalived"]` + "\n install_packages = false"
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			{PreConfig: hide, Config: config("ssh://root@"+node, services), ExpectError: regexp.MustCompile(`(?s)keepalived.*apt-get\s+install\s+keepalived`)},
			{PreConfig: show, Config: config("ssh://root@"+node, services)},
			{ResourceName: address, ImportState: true, ImportStateVerify: true}, // the machine has noted that packages stay
			{ // the daemon is gone: drift on services, and the error says which
				PreConfig: hide, Config: config("ssh://root@"+node, services), ExpectError: regexp.MustCompile(`not\s+installed`),
			},
			{PreConfig: show, Config: config("ssh://root@"+node, services)},
		},
	})
}

func TestAccServiceNodeBySudo(t *testing.T) {
	acctest.InSandbox(t)
	node := acctest.ServiceNodes(t, 1)[0]
	acctest.On(t, "svc-1", "sh", "-c", `id admin >/dev/null 2>&1 || useradd -m -s /bin/sh admin
install -d -m 700 -o admin /home/admin/.ssh && install -m 600 -o admin ~root/.ssh/authorized_keys /home/admin/.ssh/`)
	rights := func(may bool) func() {
		return func() {
			text := ""
			if may {
				text = "admin ALL=(ALL) NOPASSWD: ALL\n"
			}
			acctest.On(t, "svc-1", "sh", "-c", `printf %s "$1" >/etc/sudoers.d/admin`, "sh", text)
		}
	}
	endpoint := "ssh://admin@" + node
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			{PreConfig: rights(false), Config: config(endpoint, `timeouts = { create = "15s" }`), ExpectError: regexp.MustCompile(`(?s)cannot\s+become\s+root.*NOPASSWD`)},
			{PreConfig: rights(true), Config: config(endpoint, `services = ["haproxy"]`), Check: resource.TestCheckResourceAttr(address, "services.#", "1")},
		},
	})
}

// files lists the configuration with content, mode and owner.
func files(t *testing.T, machine string) string {
	t.Helper()
	return acctest.On(t, machine, "sh", "-c", `find /etc/haproxy /etc/bind /etc/keepalived -type f -exec stat -c '%n %a %U:%G' {} + -exec sha256sum {} + | sort`)
}

func TestAccServiceNodeGivesConfigurationBack(t *testing.T) {
	acctest.InSandbox(t)
	node := acctest.ServiceNodes(t, 1)[0]
	acctest.On(t, "svc-1", "sh", "-c", "echo '# by hand' >>/etc/haproxy/haproxy.cfg")
	before := files(t, "svc-1")
	parts := `
resource "virtcluster_haproxy_backend" "test" {
  service_node = virtcluster_service_node.test.id
  name         = "giveback"
  mode         = "tcp"
  servers      = { one = { address = "10.0.100.1", port = 6443 } }
}
resource "virtcluster_haproxy_frontend" "test" {
  service_node    = virtcluster_service_node.test.id
  name            = "giveback"
  mode            = "tcp"
  binds           = [{ address = "127.0.0.1", port = 16443 }]
  default_backend = virtcluster_haproxy_backend.test.name
}
resource "virtcluster_dns_view" "test" {
  service_node  = virtcluster_service_node.test.id
  name          = "giveback"
  match_clients = ["any"]
}
resource "virtcluster_dns_zone" "test" {
  service_node = virtcluster_service_node.test.id
  view         = virtcluster_dns_view.test.name
  name         = "giveback.example"
  name_servers = ["ns1"]
  records      = { ns1 = { A = ["10.0.100.101"] } }
}
`
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		CheckDestroy: func(*terraform.State) error {
			if after := files(t, "svc-1"); after != before {
				return fmt.Errorf("configuration after:\n%s\nbefore:\n%s", after, before)
			}
			if left, err := acctest.Try(t.Context(), "svc-1", "ls", "-A", "/var/lib/virtcluster"); err == nil {
				return fmt.Errorf("left in /var/lib/virtcluster: %q", left)
			}
			return nil
		},
		Steps: []resource.TestStep{{
			Config: config("ssh://root@"+node, `services = ["bind", "haproxy"]`) + parts,
			Check: func(*terraform.State) error {
				if got := acctest.On(t, "svc-1", "dig", "+short", "+time=2", "@127.0.0.1", "ns1.giveback.example"); got != "10.0.100.101" {
					return fmt.Errorf("dig says %q", got)
				}
				return nil
			},
		}},
	})
}
