package bootprofile_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// The provider's own program is the test's here, which serves as the provider's does.
func TestMain(m *testing.M) { acctest.RunTests(m) }

// config is a service node that machines install themselves from, and two of those: with a BIOS and with UEFI.
const config = `
locals {
  machines = [{ name = "bios", mac = "52:54:00:b0:07:01", ip = "10.0.100.151", order = ["network", "hd"] }, { name = "uefi", mac = "52:54:00:b0:07:02", ip = "10.0.100.152", order = ["hd", "network"] }]
  served   = ["kernel", "initrd", "disk.img"]
}
resource "virtcluster_service_node" "it" {
  endpoint = "ssh://root@NODE"
  services = ["ipxe", "kea"]
}
resource "virtcluster_http_content" "each" {
  count        = length(local.served)
  service_node = virtcluster_service_node.it.id
  listen       = "NODE:8080"
  path         = "/installer/${local.served[count.index]}"
  source       = "DIRECTORY/${local.served[count.index]}"
}
resource "virtcluster_boot_server" "it" {
  service_node = virtcluster_service_node.it.id
  http         = { address = "NODE" }
}
resource "virtcluster_dhcp_server" "it" {
  service_node = virtcluster_service_node.it.id
  interface    = "eth0"
  cidr         = "10.0.100.0/24"
  hosts        = { for m in local.machines : m.mac => { ip = m.ip, hostname = m.name } }
  boot         = virtcluster_boot_server.it.files
}
resource "virtcluster_boot_profile" "each" {
  count           = length(local.machines)
  boot_server     = virtcluster_boot_server.it.id
  name            = local.machines[count.index].name
  mac             = local.machines[count.index].mac
  kernel          = virtcluster_http_content.each[0].url
  initrd          = [virtcluster_http_content.each[1].url]
  cmdline         = "console=ttyS0 image=${virtcluster_http_content.each[2].url} config={base} report={report_url}"
  cloud_init      = { user_data = "#cloud-config\nhostname: installed\n" }
  wait_for_report = true
}
resource "virtcluster_storage_pool" "it" {
  name = "netboot"
  path = "/var/lib/libvirt/netboot"
}
resource "virtcluster_node" "each" {
  count              = length(local.machines)
  name               = local.machines[count.index].name
  type               = "qemu"
  firmware           = local.machines[count.index].name
  memory_mib         = 1024
  root_disk          = { size_gib = 1, pool = virtcluster_storage_pool.it.name }
  boot               = { order = local.machines[count.index].order }
  network_interfaces = [{ bridge = "svcbr0", mac = local.machines[count.index].mac }]
  console            = { log_file = "/var/log/libvirt/netboot-${local.machines[count.index].name}.log" }
  wait_for           = "none"
  shutdown_timeout   = "1s"
  depends_on         = [virtcluster_dhcp_server.it, virtcluster_boot_profile.each]
}
`

// answers waits until a machine that was installed answers with its name.
func answers(t *testing.T, name, ip string) error {
	t.Helper()
	got := ""
	for began := time.Now(); time.Since(began) < 5*time.Minute; time.Sleep(2 * time.Second) {
		if got, _ = acctest.Try(t.Context(), "hypervisor", "curl", "-sS", "--max-time", "3", "http://"+ip+":8080/"); strings.TrimSpace(got) == name {
			return nil
		}
	}
	served, _ := acctest.Try(t.Context(), "svc-1", "journalctl", "-q", "--no-pager", "-o", "cat", "-n", "40", "-u", "virtcluster-boot@server")
	shown, _ := acctest.Try(t.Context(), "hypervisor", "sh", "-c", "tail -qc 3000 /var/log/libvirt/netboot-*.log | tr -d '\\033\\000'")
	return fmt.Errorf("%s answers %q; the boot server says\n%s\nand the consoles show\n%s", name, got, served, shown)
}

// makeInstaller runs scripts of test/provisioning on svc-1, and returns its address and a directory with what they made: kernel, initrd, and disk.img,
// which is the tiny image where they make none.
func makeInstaller(t *testing.T, scripts ...string) (node, dir string) {
	t.Helper()
	node, dir = acctest.KnownServiceNodes(t, 1)[0], t.TempDir()
	acctest.On(t, "svc-1", "rm", "-rf", "/root/installer")
	for _, script := range scripts {
		text, err := os.ReadFile("../../../test/provisioning/" + script)
		if err != nil {
			t.Fatal(err)
		}
		acctest.On(t, "svc-1", "sh", "-c", string(text), "sh", "/root/installer")
	}
	acctest.On(t, "hypervisor", "sh", "-ec", `cd /run/sandbox/nodes/svc-1/root/root/installer && cp kernel initrd "$1"
if [ -e disk.img ]; then cp disk.img "$1"; else qemu-img convert -O raw "$2" "$1/disk.img"; fi`, "sh", dir, os.Getenv("SANDBOX_TINY_IMAGE"))
	return node, dir
}

// bootServerSaid is what the boot server has logged.
func bootServerSaid(t *testing.T) string {
	t.Helper()
	return acctest.On(t, "svc-1", "journalctl", "-q", "--no-pager", "-o", "cat", "-u", "virtcluster-boot@server")
}

// consolesShow is what the consoles of all machines have shown.
func consolesShow(t *testing.T) string {
	t.Helper()
	return acctest.On(t, "hypervisor", "sh", "-c", "cat /var/log/libvirt/netboot-*.log | tr -d '\\033\\000'")
}

// oneMachine is the configuration with one machine in place of two, and more of the boot server.
func oneMachine(node, dir, name, mac, ip, services, server string) string {
	const two = `[{ name = "bios", mac = "52:54:00:b0:07:01", ip = "10.0.100.151", order = ["network", "hd"] }, { name = "uefi", mac = "52:54:00:b0:07:02", ip = "10.0.100.152", order = ["hd", "network"] }]`
	return acctest.Provider() + strings.NewReplacer(
		"NODE", node, "DIRECTORY", dir, `services = ["ipxe", "kea"]`, `services = ["ipxe", "kea"`+services+`]`,
		`http         = { address = "NODE" }`, server, two, fmt.Sprintf(`[{ name = %q, mac = %q, ip = %q, order = ["network", "hd"] }]`, name, mac, ip),
	).Replace(config)
}

// TestAccGuestsInstallThemselvesFromTheNetwork has guests without an image boot from the network by their firmware, install themselves, and boot
// from their disks from then on.
func TestAccGuestsInstallThemselvesFromTheNetwork(t *testing.T) {
	acctest.InSandbox(t)
	node, dir := makeInstaller(t, "installer")
	all := acctest.Provider() + strings.NewReplacer("NODE", node, "DIRECTORY", dir).Replace(config)
	up := func(*terraform.State) error {
		for name, ip := range map[string]string{"bios": "10.0.100.151", "uefi": "10.0.100.152"} {
			if err := answers(t, name, ip); err != nil {
				return err
			}
		}
		return nil
	}
	installed := func(machine int) resource.TestCheckFunc {
		return resource.TestCheckResourceAttr(fmt.Sprintf("virtcluster_boot_profile.each.%d", machine), "installed", "true")
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			{Config: all, Check: up},
			{
				PreConfig: func() { // the one with a BIOS asks the network again, which says that its disk is to be booted
					for _, name := range []string{"bios", "uefi"} {
						acctest.On(t, "hypervisor", "virsh", "destroy", name)
						acctest.On(t, "hypervisor", "virsh", "start", name)
					}
				},
				Config: all, Check: resource.ComposeTestCheckFunc(up, installed(0), installed(1), func(*terraform.State) error {
					said := bootServerSaid(t)
					if kernels, asked := strings.Count(said, " kernel,"), strings.Count(said, "bios script.ipxe"); kernels != 2 || asked != 3 {
						return fmt.Errorf("a kernel was fetched %d times, and what to boot asked for %d times:\n%s", kernels, asked, said)
					}
					return nil
				}),
			},
		},
	})
}

// TestAccAGuestUnderSecureBootInstallsItself has the firmware of a guest take nothing but what is signed: shim and GRUB from the network, a kernel of
// Debian's, and from its disk the same once it is installed, as GRUB from the network says.
func TestAccAGuestUnderSecureBootInstallsItself(t *testing.T) {
	acctest.InSandbox(t)
	node, dir := makeInstaller(t, "installer", "signed-disk")
	all := oneMachine(node, dir, "uefi-secure", "52:54:00:b0:07:03", "10.0.100.153", `, "shim"`, fmt.Sprintf("http = { address = %q }\n  secure_boot = true", node))
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			{Config: all, Check: func(*terraform.State) error { return awaitInstalled(t, "52:54:00:b0:07:03", "10.0.100.153") }},
			{Config: all, Check: resource.ComposeTestCheckFunc(resource.TestCheckResourceAttr("virtcluster_boot_profile.each.0", "installed", "true"), func(*terraform.State) error {
				if kernels, asked := strings.Count(bootServerSaid(t), "52:54:00:b0:07:03 uefi-secure kernel,"), strings.Count(bootServerSaid(t), "52:54:00:b0:07:03 uefi-secure grub.cfg"); kernels != 1 || asked != 2 {
					return fmt.Errorf("a kernel was fetched %d times, and what to boot asked for %d times:\n%s", kernels, asked, bootServerSaid(t))
				}
				return nil
			})},
		},
	})
}

// TestAccAGuestBootsByHTTP has the firmware of a guest fetch its loader by HTTP, as it is offered nothing by TFTP.
func TestAccAGuestBootsByHTTP(t *testing.T) {
	acctest.InSandbox(t)
	node, dir := makeInstaller(t, "installer")
	all := oneMachine(node, dir, "uefi", "52:54:00:b0:07:04", "10.0.100.154", "", fmt.Sprintf("http = { address = %q }\n  tftp = false", node))
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			{Config: all, Check: func(*terraform.State) error {
				err := answers(t, "uefi", "10.0.100.154")
				if shown := consolesShow(t); err == nil && !strings.Contains(shown, "URI: http://"+node+":8090/snponly.efi") {
					return fmt.Errorf("it came up otherwise:\n%s", shown)
				}
				return err
			}},
			{Config: all, Check: resource.TestCheckResourceAttr("virtcluster_boot_profile.each.0", "installed", "true")},
		},
	})
}

// TestAccAGuestUnderSecureBootBootsByHTTP has the firmware of a guest that takes nothing but what is signed be offered nothing by TFTP: it gets a
// disc with all of it, installs itself, and goes on to its disk by itself then.
func TestAccAGuestUnderSecureBootBootsByHTTP(t *testing.T) {
	acctest.InSandbox(t)
	node, dir := makeInstaller(t, "installer", "signed-disk")
	all := oneMachine(node, dir, "uefi-secure", "52:54:00:b0:07:05", "10.0.100.155", `, "shim"`, fmt.Sprintf("http = { address = %q }\n  secure_boot = true\n  tftp = false", node))
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			{Config: all, Check: func(*terraform.State) error {
				if err := awaitInstalled(t, "52:54:00:b0:07:05", "10.0.100.155"); err != nil {
					return err
				}
				if shown := consolesShow(t); !strings.Contains(shown, "URI: http://"+node+":8090/boot.img") {
					return fmt.Errorf("it booted otherwise:\n%s", shown)
				}
				return nil
			}},
			{Config: all, Check: resource.ComposeTestCheckFunc(resource.TestCheckResourceAttr("virtcluster_boot_profile.each.0", "installed", "true"), func(*terraform.State) error {
				if kernels := strings.Count(bootServerSaid(t), "52:54:00:b0:07:05 uefi-secure kernel,"); kernels != 1 {
					return fmt.Errorf("a kernel was fetched %d times:\n%s", kernels, bootServerSaid(t))
				}
				return nil
			})},
		},
	})
}

// awaitInstalled waits until the machine under Secure Boot has installed itself, has it start anew, and waits until it answers from its disk.
func awaitInstalled(t *testing.T, mac, ip string) error {
	t.Helper()
	for began := time.Now(); !strings.Contains(bootServerSaid(t), mac+" uefi-secure installed"); time.Sleep(2 * time.Second) {
		if time.Since(began) > 6*time.Minute {
			return answers(t, "installed", ip) // it says what there is to see
		}
	}
	// Some emulators do not start anew where firmware guards its variables: it is switched off and on.
	acctest.On(t, "hypervisor", "virsh", "destroy", "uefi-secure")
	acctest.On(t, "hypervisor", "virsh", "start", "uefi-secure")
	return answers(t, "secure", ip)
}
