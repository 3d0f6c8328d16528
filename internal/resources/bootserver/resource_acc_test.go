package bootserver_test

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/alloc"
)

// The provider's own program is the test's here, which serves as the provider's does.
func TestMain(m *testing.M) { acctest.RunTests(m) }

const (
	at  = "http://10.19.41.101:8090"
	mac = "52:54:00:AA:00:01"
	// here is where the machine's files are.
	here = at + "/boot/52-54-00-aa-00-01/"
)

// server is a boot server on svc-1, with what is about it.
func server(node, more string) string {
	return acctest.Provider() + fmt.Sprintf(`
resource "virtcluster_service_node" "it" {
  endpoint = "ssh://root@%s"
  services = ["ipxe"]
}
resource "virtcluster_boot_server" "it" {
  service_node = virtcluster_service_node.it.id
  http         = { address = "10.19.41.101" }
  %s
}
`, node, more)
}

// profile is what the machine boots: files that lan-client serves.
func profile(name, more string) string {
	return fmt.Sprintf(`
resource "virtcluster_boot_profile" %[1]q {
  boot_server = virtcluster_boot_server.it.id
  name        = %[1]q
  mac         = %[2]q
  kernel      = "http://10.19.41.50:8000/kernel"
  initrd      = ["http://10.19.41.50:8000/initrd"]
  %[3]s
}
`, name, mac, more)
}

// filesServer serves the directory that it is begun in. Python's own begins with a question for its host's name, which takes long where there
// is no DNS.
const filesServer = `
import http.server, socketserver
class Server(http.server.ThreadingHTTPServer):
    def server_bind(self):
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = self.server_address
Server(("10.19.41.50", 8000), http.server.SimpleHTTPRequestHandler).serve_forever()
`

// serveFiles has lan-client serve a kernel and an initrd until the test ends.
func serveFiles(t *testing.T) {
	t.Helper()
	acctest.On(t, "lan-client", "sh", "-c", `mkdir -p /tmp/boot-files && cd /tmp/boot-files && echo a kernel >kernel && echo a disk >initrd
python3 -c "$1" >/dev/null 2>&1 </dev/null & echo $! >/tmp/boot-files/pid
for n in $(seq 50); do curl -sf -o /dev/null http://10.19.41.50:8000/kernel && exit; sleep 0.1; done; exit 1`, "sh", filesServer)
	t.Cleanup(func() {
		_, _ = acctest.Try(context.Background(), "lan-client", "sh", "-c", "kill $(cat /tmp/boot-files/pid); rm -r /tmp/boot-files")
	})
}

// fetch has curl on svc-2 fetch a URL; its failure is its words.
func fetch(t *testing.T, url string) string {
	t.Helper()
	out, err := acctest.Try(t.Context(), "svc-2", "curl", "-sSf", "--max-time", "20", url)
	if err != nil {
		return "failed: " + out
	}
	return out
}

// boots checks what the machine is told to boot, and installs it then: it fetches all it is told to.
func boots(t *testing.T, installer bool, files ...string) resource.TestCheckFunc {
	return func(*terraform.State) error {
		script := fetch(t, here+"script.ipxe")
		if strings.Contains(script, "\nkernel ") != installer || strings.Contains(script, "sanboot") == installer {
			return fmt.Errorf("it boots\n%s", script)
		}
		for _, name := range files {
			if got := fetch(t, here+name); strings.HasPrefix(got, "failed") || strings.TrimSpace(got) == "" {
				return fmt.Errorf("%s is %q", name, got)
			}
		}
		return nil
	}
}

func TestAccMachinesAreInstalledOnce(t *testing.T) {
	acctest.BothCLIs(t)
	acctest.InSandbox(t)
	node := acctest.KnownServiceNodes(t, 2)[0]
	serveFiles(t)
	leavesNothing := acctest.LeavesNothing(t, "svc-1", "/etc/virtcluster* /etc/systemd/system/*virtcluster* /etc/systemd/system/*/*virtcluster* /var/lib/virtcluster* /var/lib/private /run/virtcluster-boot* /usr/local/lib/virtcluster", "ss -Hltn 'sport = :8090'; ss -Hlun 'sport = :69'")
	on1 := func(script string) func() { return func() { acctest.On(t, "svc-1", "sh", "-c", script) } }
	installed := func(want string) resource.TestCheckFunc {
		return resource.TestCheckResourceAttr("virtcluster_boot_profile.worker-1", "installed", want)
	}
	const cloudInit = `cloud_init = { user_data = "#cloud-config\n" }`
	config := server(node, "") + profile("worker-1", cloudInit)
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		CheckDestroy:             leavesNothing,
		Steps: []resource.TestStep{
			{Config: strings.Split(server(node, ""), "resource \"virtcluster_boot_server\"")[0]},
			{Config: server(node, `loaders = "/no/such"`), PlanOnly: true, ExpectError: regexp.MustCompile(`/no/such/ipxe.pxe\s+on\s+.*cannot\s+be\s+read`)},
			{Config: strings.Replace(server(node, ""), "10.19.41.101", "10.19.41.99", 1), PlanOnly: true, ExpectError: regexp.MustCompile(`has\s+no\s+address\s+10.19.41.99`)},
			{
				PreConfig: on1("socat -u UDP4-RECV:69 OPEN:/dev/null >/dev/null 2>&1 </dev/null & echo $! >/tmp/socat.pid"),
				Config:    server(node, ""), PlanOnly: true, ExpectError: regexp.MustCompile(`socat\s+on\s+.*listens\s+at\s+0.0.0.0:69`),
			},
			{PreConfig: on1("kill $(cat /tmp/socat.pid); rm /tmp/socat.pid"), Config: strings.Replace(config, `kernel      =`, `# `, 1), PlanOnly: true, ExpectError: regexp.MustCompile(`argument\s+"kernel"\s+is\s+required`)},
			{Config: strings.Replace(config, "8000/initrd", "8000/none", 1), PlanOnly: true, ExpectError: regexp.MustCompile(`(?s)8000/none\s+does\s+not\s+answer.*it\s+answers\s+404`)},
			{Config: strings.Replace(config, ":8000/kernel", ":8001/kernel", 1), PlanOnly: true, ExpectError: regexp.MustCompile(`8001/kernel\s+does\s+not\s+answer`)},
			{Config: config + profile("worker-2", ""), PlanOnly: true, ExpectError: regexp.MustCompile("Two profiles for one machine")},
			{Config: server(node, "") + profile("worker-1", "wait_for_report = true\n once = false"), PlanOnly: true, ExpectError: regexp.MustCompile("Nothing to wait for")},
			{Config: config, Check: resource.ComposeTestCheckFunc(
				installed("false"),
				resource.TestCheckResourceAttr("virtcluster_boot_server.it", "files.ipxe", at+"/boot.ipxe"),
				func(*terraform.State) error {
					if user := acctest.On(t, "svc-1", "ps", "-o", "user:32=", "-C", "terraform-provi"); user == "root" || user == "" {
						return fmt.Errorf("it runs as %q", user)
					}
					for _, name := range []string{"ipxe.pxe", "snponly.efi"} {
						sum := acctest.On(t, "svc-2", "sh", "-c", "curl -sS --max-time 20 tftp://10.19.41.101/"+name+" | sha256sum")
						if want := acctest.On(t, "svc-1", "sh", "-c", "sha256sum </usr/lib/ipxe/"+name); sum != want {
							return fmt.Errorf("by TFTP %s is %s, want %s", name, sum, want)
						}
					}
					if got := acctest.On(t, "svc-2", "curl", "-sS", "-o", "/dev/null", "-w", "%{http_code} %{size_download}", at+"/snponly.efi"); !strings.HasPrefix(got, "200 ") {
						return fmt.Errorf("by HTTP snponly.efi is %s", got)
					}
					return nil
				},
				boots(t, true, "kernel", "initrd0", "meta-data"),
				boots(t, true, "kernel", "initrd0", "meta-data", "user-data"),
				boots(t, false),
			)},
			{Config: config, Check: resource.ComposeTestCheckFunc(installed("true"), resource.TestMatchResourceAttr("virtcluster_boot_profile.worker-1", "last_seen", regexp.MustCompile(`^20..-`)), boots(t, false))},
			{ResourceName: "virtcluster_boot_server.it", ImportState: true, ImportStateVerify: true},
			{ResourceName: "virtcluster_boot_profile.worker-1", ImportState: true, ImportStateVerify: true, ImportStateVerifyIgnore: []string{"mac", "last_seen"}},
			{PreConfig: func() { acctest.Reboot(t, "svc-1") }, Config: config, Check: resource.ComposeTestCheckFunc(boots(t, false), installed("true"))},
			{
				PreConfig: on1("sed -i s/initrd\\\"/none\\\"/ /etc/virtcluster-boot/server/profile-worker-1.json; systemctl stop virtcluster-boot@server"),
				Config:    config, Check: boots(t, false, "initrd0"),
			},
			{Config: server(node, "") + profile("worker-1", cloudInit+"\n generation = 2"), Check: resource.ComposeTestCheckFunc(installed("false"), boots(t, true, "kernel", "initrd0", "meta-data", "user-data"), boots(t, false))},
			{Config: server(node, "") + profile("worker-1", "generation = 3\n wait_for_report = true\n cmdline = \"report={report_url}\""), Check: resource.ComposeTestCheckFunc(
				boots(t, true, "kernel", "initrd0"), boots(t, true, "kernel", "initrd0", "installed"), boots(t, false),
			)},
			{Config: strings.Replace(server(node, "tftp = false"), `"10.19.41.101"`, `"10.19.41.101", port = 8091`, 1), Check: func(*terraform.State) error {
				if got := fetch(t, "http://10.19.41.101:8091/boot/52-54-00-aa-00-01/script.ipxe"); !strings.Contains(got, "no profile") {
					return fmt.Errorf("without a profile it boots %q", got)
				}
				return nil
			}},
		},
	})
}

// TestAccAProfileIsForANode has a profile find the address of a node: as it will be, as the plan has it, and as the hypervisor has it.
func TestAccAProfileIsForANode(t *testing.T) {
	acctest.InSandbox(t)
	serveFiles(t)
	config := server(acctest.KnownServiceNodes(t, 1)[0], "")
	boots := func(node string) string {
		return strings.Replace(profile("it", ""), `mac         = "`+mac+`"`, "node = "+node, 1)
	}
	machine := func(mac string) string {
		return fmt.Sprintf(`
resource "virtcluster_node" "w" {
  name               = "booted"
  type               = "qemu"
  memory_mib         = 128
  running            = false
  network_interfaces = [{ bridge = "svcbr0" %s }]
}
`, mac)
	}
	own := machine(`, mac = "52:54:00:bb:00:01"`)
	has := func(mac string) resource.TestCheckFunc {
		return resource.ComposeTestCheckFunc(resource.TestCheckResourceAttr("virtcluster_boot_profile.it", "mac", mac), func(*terraform.State) error {
			if script := fetch(t, at+"/boot/"+strings.ReplaceAll(mac, ":", "-")+"/script.ipxe"); !strings.Contains(script, "\nkernel ") {
				return fmt.Errorf("%s boots\n%s", mac, script)
			}
			return nil
		})
	}
	derived := alloc.MAC("booted", 0).String()
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			{Config: strings.Split(config, "resource \"virtcluster_boot_server\"")[0]},
			{Config: config + strings.Replace(profile("it", ""), "mac  ", "node = \"booted\"\n  mac  ", 1), PlanOnly: true, ExpectError: regexp.MustCompile("one and only one|Invalid Attribute Combination")},
			{Config: config + boots(`"booted"`), Check: has(derived)},
			{ResourceName: "virtcluster_boot_profile.it", ImportState: true, ImportStateVerify: true, ImportStateVerifyIgnore: []string{"last_seen"}},
			{Config: config + boots(`"booted"`) + strings.Replace(own, "running ", "depends_on = [virtcluster_boot_profile.it]\n  running ", 1), PlanOnly: true, ExpectError: regexp.MustCompile(`Another\s+machine`)},
			{Config: config + boots("virtcluster_node.w.name") + own, Check: has("52:54:00:bb:00:01")},
			{Config: config + own},
			{Config: config + boots(`"booted"`) + own, Check: has("52:54:00:bb:00:01")},
		},
	})
}

// TestAccUnderSecureBootMachinesGetWhatIsSigned has clients of TFTP and HTTP fetch what firmware, shim and GRUB do, by one interface alone; GRUB's own
// checker reads its scripts.
func TestAccUnderSecureBootMachinesGetWhatIsSigned(t *testing.T) {
	acctest.InSandbox(t)
	node := acctest.KnownServiceNodes(t, 2)[0]
	serveFiles(t)
	config := func(more string) string {
		return strings.Replace(server(node, more), `services = ["ipxe"]`, `services = ["ipxe", "shim"]`, 1)
	}
	const tftp = "tftp://10.19.41.101/"
	// grub is a script of GRUB by both ways, which its checker has read.
	grub := func(path string) (string, error) {
		byHTTP, byTFTP := fetch(t, at+path), fetch(t, tftp+path)
		if byHTTP != byTFTP {
			return "", fmt.Errorf("%s is by HTTP\n%s\nand by TFTP\n%s", path, byHTTP, byTFTP)
		}
		out, err := acctest.Try(t.Context(), "svc-2", "sh", "-c", "curl -sSf "+at+path+" | grub-script-check")
		if err != nil {
			return "", fmt.Errorf("%s: %w: %s\n%s", path, err, out, byHTTP)
		}
		return byHTTP, nil
	}
	secure := config("secure_boot = true\n interfaces = [\"eth1\"]") + profile("worker-1", "cmdline = \"console=ttyS0\"\n"+`cloud_init = { user_data = "#cloud-config\n" }`)
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			{Config: strings.Split(config(""), "resource \"virtcluster_boot_server\"")[0]},
			{Config: config(`interfaces = ["none7"]`), PlanOnly: true, ExpectError: regexp.MustCompile(`has\s+no\s+interface\s+none7`)},
			{Config: config("secure_boot = true\n loaders = \"/srv\""), PlanOnly: true, ExpectError: regexp.MustCompile(`/srv/ipxe.pxe\s+on\s+.*cannot\s+be\s+read`)},
			{Config: secure, Check: resource.ComposeTestCheckFunc(
				resource.TestCheckResourceAttr("virtcluster_boot_server.it", "files.bios", "ipxe.pxe"),
				resource.TestCheckResourceAttr("virtcluster_boot_server.it", "files.uefi_x64", "shimx64.efi"),
				resource.TestCheckResourceAttr("virtcluster_boot_server.it", "files.http_x64", at+"/boot.img"),
				func(*terraform.State) error {
					for name, file := range map[string]string{"shimx64.efi": "/usr/lib/shim/shimx64.efi.signed", "grubx64.efi": "/usr/lib/grub/x86_64-efi-signed/grubnetx64.efi.signed"} {
						want := acctest.On(t, "svc-1", "sh", "-c", "sha256sum <"+file)
						for _, from := range []string{tftp, at + "/"} {
							if sum := acctest.On(t, "svc-2", "sh", "-c", "curl -sS --max-time 60 "+from+name+" | sha256sum"); sum != want {
								return fmt.Errorf("%s%s is %s, want %s", from, name, sum, want)
							}
						}
					}
					if _, err := grub("/grub/grub.cfg"); err != nil {
						return err
					}
					own := strings.TrimPrefix(here, at)
					script, err := grub(own + "grub.cfg")
					if err != nil || !strings.Contains(script, "linux "+own+"kernel 'console=ttyS0' 'ds=nocloud;s="+here+"'") {
						return fmt.Errorf("%w: it boots\n%s", err, script)
					}
					disc := acctest.On(t, "svc-2", "sh", "-ec", "curl -sSf -o /tmp/boot.img "+here+"boot.img; /usr/sbin/fsck.fat -n /tmp/boot.img; mdir -/ -b -i /tmp/boot.img; mtype -i /tmp/boot.img ::/grub/grub.cfg | grub-script-check; rm /tmp/boot.img")
					for _, file := range []string{"::/EFI/BOOT/BOOTX64.EFI", "::/EFI/BOOT/GRUBX64.EFI", "::/GRUB/GRUB.CFG", "::/KERNEL", "::/INITRD0"} {
						if !strings.Contains(disc, file) {
							return fmt.Errorf("the disc has not %s:\n%s", file, disc)
						}
					}
					if got := fetch(t, at+"/boot.img"); !strings.Contains(got, "404") {
						return fmt.Errorf("one without a profile gets the disc %q", got)
					}
					for _, name := range []string{"kernel", "initrd0"} { // by GRUB
						if got := fetch(t, tftp+own+name); !strings.HasPrefix(got, "a ") {
							return fmt.Errorf("%s is %q", name, got)
						}
					}
					for _, name := range []string{"meta-data", "user-data"} { // by the installer
						fetch(t, here+name)
					}
					script, err = grub(own + "grub.cfg")
					if err != nil || !strings.Contains(script, "is installed: booting from disk") {
						return fmt.Errorf("%w: then it boots\n%s", err, script)
					}
					if _, err := grub("/boot/52-54-00-00-00-99/grub.cfg"); err != nil {
						return err
					}
					acctest.On(t, "svc-2", "ip", "route", "add", "10.19.41.101/32", "via", node)
					got := fetch(t, at+"/boot.ipxe")
					acctest.On(t, "svc-2", "ip", "route", "del", "10.19.41.101/32")
					if !strings.HasPrefix(got, "failed") {
						return fmt.Errorf("by another interface it answers %q", got)
					}
					return nil
				},
			)},
			{Config: secure, Check: resource.TestCheckResourceAttr("virtcluster_boot_profile.worker-1", "installed", "true")},
			{ResourceName: "virtcluster_boot_server.it", ImportState: true, ImportStateVerify: true},
			{PreConfig: func() {
				acctest.On(t, "svc-1", "sh", "-ec", `sed -i 's/"secure_boot": true/"secure_boot": false/' "$1"; grep -q '"secure_boot": false' "$1"`, "sh", "/etc/virtcluster-boot/server/server.json")
			}, Config: secure, Check: func(*terraform.State) error {
				_, err := grub("/grub/grub.cfg")
				return err
			}},
			{Config: config(""), Check: resource.ComposeTestCheckFunc(resource.TestCheckResourceAttr("virtcluster_boot_server.it", "files.uefi_x64", "snponly.efi"), func(*terraform.State) error {
				if got := fetch(t, at+"/grub/grub.cfg"); !strings.HasPrefix(got, "failed") {
					return fmt.Errorf("without Secure Boot GRUB gets %q", got)
				}
				return nil
			})},
		},
	})
}

// TestAccAPairOfBootServersKnowsTheSame has one of two end after a machine was installed by it.
func TestAccAPairOfBootServersKnowsTheSame(t *testing.T) {
	acctest.InSandbox(t)
	nodes := acctest.KnownServiceNodes(t, 2)
	serveFiles(t)
	config := acctest.Provider() + fmt.Sprintf(`
resource "virtcluster_boot_server" "it" {
  service_node = "ssh://root@%s"
  http         = { address = "10.19.41.101" }
  peers        = ["10.19.41.102:8090"]
}
resource "virtcluster_boot_server" "other" {
  service_node = "ssh://root@%s"
  http         = { address = "10.19.41.102" }
  peers        = ["10.19.41.101:8090"]
}
`, nodes[0], nodes[1])
	pair := config + profile("pair", "standby = virtcluster_boot_server.other.id")
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			{Config: pair, Check: func(*terraform.State) error {
				acctest.On(t, "svc-1", "curl", "-sSf", "-X", "POST", here+"installed")
				return nil
			}},
			{PreConfig: func() { acctest.On(t, "svc-1", "systemctl", "stop", "virtcluster-boot@server") }, RefreshState: true, ExpectNonEmptyPlan: true, Check: func(*terraform.State) error {
				if script := fetch(t, strings.ReplaceAll(here, ".101:", ".102:")+"script.ipxe"); !strings.Contains(script, "is installed") {
					return fmt.Errorf("the other one has it boot\n%s", script)
				}
				return nil
			}},
			{Config: pair, Check: resource.ComposeTestCheckFunc(boots(t, false), resource.TestCheckResourceAttr("virtcluster_boot_profile.pair", "installed", "true"))},
			{ResourceName: "virtcluster_boot_profile.pair", ImportState: true, ImportStateVerify: true, ImportStateVerifyIgnore: []string{"mac", "last_seen"}},
			{ResourceName: "virtcluster_boot_profile.pair", ImportState: true, ImportStateKind: resource.ImportBlockWithID},
			{Config: config + profile("pair", fmt.Sprintf("standby = \"ssh://root@%s:22#boot\"", nodes[1])), PlanOnly: true}, // the same one, spelled otherwise
			{
				PreConfig: func() { acctest.On(t, "svc-2", "rm", "/etc/virtcluster-boot/server/profile-pair.json") },
				Config:    pair, Check: func(*terraform.State) error {
					acctest.On(t, "svc-2", "test", "-s", "/etc/virtcluster-boot/server/profile-pair.json")
					return nil
				},
			},
			{Config: config + profile("pair", ""), Check: func(*terraform.State) error {
				if out, err := acctest.Try(t.Context(), "svc-2", "ls", "/etc/virtcluster-boot/server/profile-pair.json"); err == nil {
					return fmt.Errorf("the other one has it still: %s", out)
				}
				return nil
			}},
		},
	})
}
