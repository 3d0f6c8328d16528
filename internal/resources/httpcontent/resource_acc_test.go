package httpcontent_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// The provider's own program is the test's here, which serves as the provider's does.
func TestMain(m *testing.M) { acctest.RunTests(m) }

func content(name, node, path, more string) string {
	return fmt.Sprintf(`
resource "virtcluster_http_content" %q {
  service_node = virtcluster_service_node.it.id
  listen       = "%[2]s:8080"
  path         = %[3]q
  %[4]s
}
`, name, node, path, more)
}

func service(node string) string {
	return acctest.Provider() + fmt.Sprintf("resource \"virtcluster_service_node\" \"it\" {\n  endpoint = \"ssh://root@%s\"\n}\n", node)
}

func TestAccHTTPContentLife(t *testing.T) {
	acctest.BothCLIs(t)
	acctest.InSandbox(t)
	node := acctest.KnownServiceNodes(t, 1)[0]
	dir := t.TempDir()
	// Several pieces, and a directory that has the same file.
	acctest.On(t, "hypervisor", "sh", "-c", `cd "$1" && head -c 20000000 /dev/urandom >big && mkdir -p tree/below && cp big tree/below/big && echo hello >tree/hello && sha256sum big | cut -d ' ' -f 1 >sum`, "sh", dir)
	read, err := os.ReadFile(filepath.Join(dir, "sum"))
	if err != nil {
		t.Fatal(err)
	}
	sum := strings.TrimSpace(string(read))
	gets := func(path, want string, options ...string) resource.TestCheckFunc {
		return func(*terraform.State) error {
			got := acctest.On(t, "hypervisor", append([]string{"sh", "-c", `curl -sS "$@" | sha256sum | cut -d ' ' -f 1`, "sh", "http://" + node + ":8080" + path}, options...)...)
			if strings.TrimSpace(got) != want {
				return fmt.Errorf("%s is %s, want %s", path, got, want)
			}
			return nil
		}
	}
	const hello = "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03" // of "hello\n"
	text, big := content("text", node, "/hello", `content = "hello\n"`), content("big", node, "/images/big", fmt.Sprintf("source = %q", dir+"/big"))
	tree := content("tree", node, "/tree", fmt.Sprintf("directory = %q", dir+"/tree"))
	copied := content("copied", node, "/copied", fmt.Sprintf("source = \"http://%s:8080/images/big\"\n  checksum = \"sha256:%s\"", node, sum))
	served := resource.ComposeTestCheckFunc(gets("/hello", hello), gets("/images/big", sum), gets("/tree/hello", hello), gets("/tree/below/big", sum))
	refused := func(more, says string) resource.TestStep {
		return resource.TestStep{Config: service(node) + content("it", node, "/it", more), PlanOnly: true, ExpectError: regexp.MustCompile(says)}
	}
	all := service(node) + text + big + tree
	leavesNothing := acctest.LeavesNothing(t, "svc-1", "/etc/virtcluster* /etc/systemd/system/*virtcluster* /etc/systemd/system/*/*virtcluster* /var/lib/virtcluster* /usr/local/lib/virtcluster", "ss -Hltn 'sport = :8080'")
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		CheckDestroy:             leavesNothing,
		Steps: []resource.TestStep{
			{Config: service(node)},
			refused(`source = "https://192.0.2.1/x"`, `write\s+the\s+checksum`),
			refused(fmt.Sprintf("source = \"http://%s:9/x\"\n checksum = \"sha256:%s\"", node, sum), `connection\s+refused`),
			refused(fmt.Sprintf("content = \"x\"\n checksum = \"sha256:%s\"", sum), `it\s+should\s+be`),
			refused(`source = "/no/such"`, `no\s+such\s+file`),
			refused("content = \"x\"\n source = \"/etc/hosts\"", "(?i)invalid attribute combination"),
			{Config: service(node) + text + content("again", node, "/hello", `content = "x"`), PlanOnly: true, ExpectError: regexp.MustCompile("Served twice")},
			{
				PreConfig: func() {
					acctest.On(t, "svc-1", "sh", "-c", "socat -u TCP-LISTEN:8080,fork OPEN:/dev/null >/dev/null 2>&1 </dev/null & echo $! >/tmp/socat.pid; sleep 1")
				},
				Config: service(node) + text, PlanOnly: true, ExpectError: regexp.MustCompile(`socat\s+on\s+.*listens\s+at`),
			},
			{
				PreConfig: func() { acctest.On(t, "svc-1", "sh", "-c", "kill $(cat /tmp/socat.pid); rm /tmp/socat.pid") },
				Config:    all, Check: resource.ComposeTestCheckFunc(served, gets("/images/big", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", "-o", "/tmp/part", "-r", "5-14"), func(*terraform.State) error {
					acctest.On(t, "hypervisor", "sh", "-c", `tail -c +6 "$1" | head -c 10 | cmp - /tmp/part`, "sh", dir+"/big")
					return nil
				}),
			},
			{ResourceName: "virtcluster_http_content.text", ImportState: true, ImportStateVerify: true},
			{ResourceName: "virtcluster_http_content.big", ImportState: true, ImportStateVerify: true},
			{ResourceName: "virtcluster_http_content.tree", ImportState: true, ImportStateVerify: true},
			{Config: all + copied, Check: resource.ComposeTestCheckFunc(served, gets("/copied", sum))},
			{
				PreConfig: func() { acctest.On(t, "svc-1", "sh", "-c", "echo more >>/var/lib/virtcluster-http/"+sum) },
				Config:    all, Check: served,
			},
			{
				PreConfig: func() {
					acctest.On(t, "svc-1", "sh", "-c", "sed -i s/"+hello+"/"+sum+"/ /etc/virtcluster-http/8080/content-*.json && systemctl reload virtcluster-http@8080")
				},
				Config: all, Check: served,
			},
			{PreConfig: func() { acctest.On(t, "svc-1", "systemctl", "stop", "virtcluster-http@8080") }, Config: all, Check: served},
			{PreConfig: func() { acctest.Reboot(t, "svc-1") }, Config: all, Check: served},
			{
				PreConfig: func() {
					if err := os.WriteFile(filepath.Join(dir, "tree", "hello"), []byte("changed\n"), 0o600); err != nil {
						t.Error(err)
					}
				},
				Config: all, Check: gets("/tree/hello", "7f8b1dfc466b6249f06cbe55c9174df2578e7754da793fded244ef5cba2a38f1"),
			},
		},
	})
}

// TestAccAServiceNodeOfAnotherPlatformGetsTheReleasesProgram has the program be fetched from the provider's own release.
func TestAccAServiceNodeOfAnotherPlatformGetsTheReleasesProgram(t *testing.T) {
	acctest.InSandbox(t)
	node := acctest.KnownServiceNodes(t, 1)[0]
	leavesNothing := acctest.LeavesNothing(t, "svc-1", "/etc/virtcluster* /etc/systemd/system/*virtcluster* /usr/local/lib/virtcluster", "ss -Hltn 'sport = :8080'")
	r := acctest.NewReleaseFor(t, "svc-1", "9.9.9")
	config := service(node) + content("it", node, "/hello", `content = "hello\n"`)
	var show func()
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: r.Providers,
		CheckDestroy:             leavesNothing,
		Steps: []resource.TestStep{
			{Config: service(node)},
			{PreConfig: func() { show = r.Hide(t) }, Config: config, PlanOnly: true, ExpectError: regexp.MustCompile(`the\s+server\s+answers\s+404`)},
			{PreConfig: func() { show(); r.Publish(t, strings.Repeat("0", 64)) }, Config: config, ExpectError: regexp.MustCompile(`wrong\s+checksum`)},
			{PreConfig: func() { r.Publish(t, r.Sum) }, Config: config, Check: func(*terraform.State) error {
				if sum := acctest.On(t, "svc-1", "sh", "-c", "sha256sum </proc/$(systemctl show --property=MainPID --value virtcluster-http@8080)/exe"); !strings.HasPrefix(sum, r.Program) {
					return fmt.Errorf("what runs has the sum %s, want %s", sum, r.Program)
				}
				if got := acctest.On(t, "hypervisor", "curl", "-sS", "http://"+node+":8080/hello"); got != "hello" {
					return fmt.Errorf("it serves %q", got)
				}
				return nil
			}},
		},
	})
}
