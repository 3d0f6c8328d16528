package node_test

import (
	"bytes"
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// kernelFiles writes a kernel, an initrd whose only program says its command line, and an iPXE script that fetches
// both by TFTP, into a directory that QEMU and dnsmasq can read.
func kernelFiles(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for d := dir; d != os.TempDir() && d != "/"; d = filepath.Dir(d) {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	fetch := map[string]string{
		"kernel": "base64 -w0 /boot/vmlinuz-*",
		"initrd": `d=$(mktemp -d) && cd $d && mkdir bin proc && cp /usr/bin/busybox bin && printf '#!/bin/busybox sh\n/bin/busybox mount -t proc proc /proc\necho "guest is up: $(/bin/busybox cat /proc/cmdline)"\nexec /bin/busybox sleep 9999\n' >init &&
			chmod +x init && find . | cpio --quiet -o -H newc | base64 -w0 && rm -r $d`,
	}
	files := map[string][]byte{"boot.ipxe": []byte("#!ipxe\nkernel tftp://${next-server}/kernel console=ttyS0 booted=tftp no_timer_check\ninitrd tftp://${next-server}/initrd\nboot\n")}
	for name, command := range fetch {
		content, err := base64.StdEncoding.DecodeString(acctest.On(t, "svc-1", "sh", "-c", command))
		if err != nil {
			t.Fatal(err)
		}
		files[name] = content
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// wrote waits until a console's log has a text.
func wrote(t *testing.T, log, text string) resource.TestCheckFunc {
	return func(*terraform.State) error {
		var content []byte
		for deadline := time.Now().Add(3 * time.Minute); time.Now().Before(deadline); time.Sleep(200 * time.Millisecond) {
			if content, _ = os.ReadFile(log); bytes.Contains(content, []byte(text)) {
				return nil
			}
		}
		t.Errorf("%s says nothing of %q:\n%s", log, text, content)
		return nil
	}
}

func TestAccNodeBootsAKernelDirectlyAndFromTheNetwork(t *testing.T) {
	acctest.InSandbox(t)
	dir := kernelFiles(t)
	config := acctest.Provider() + strings.ReplaceAll(`
resource "virtcluster_network" "n" {
  name = "nodepxe"
  mode = "isolated"
  cidr = "10.75.0.0/24"
  dhcp = { ranges = [{ start = "10.75.0.210", end = "10.75.0.220" }] }
  pxe  = { tftp_root = "DIR", boot_file = "boot.ipxe" }
}
resource "virtcluster_node" "pxe" {
  name               = "accpxe"
  type               = "qemu"
  memory_mib         = 256
  shutdown_timeout   = "0s"
  boot               = { order = ["network"] }
  network_interfaces = [{ network = virtcluster_network.n.name }]
  console            = { log_file = "/var/log/libvirt/accpxe.log" }
}
resource "virtcluster_node" "n" {
  name             = "acckernel"
  type             = "qemu"
  memory_mib       = 256
  shutdown_timeout = "0s"
  boot             = { kernel = "DIR/kernel", initrd = "DIR/initrd", cmdline = "console=ttyS0 booted=directly no_timer_check" }
  console          = { type = "pty", log_file = "/var/log/libvirt/acckernel.log" }
}
`, "DIR", dir)
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			{Config: config, Check: resource.ComposeTestCheckFunc(
				wrote(t, "/var/log/libvirt/acckernel.log", "guest is up: console=ttyS0 booted=directly no_timer_check"),
				wrote(t, "/var/log/libvirt/accpxe.log", "guest is up: console=ttyS0 booted=tftp no_timer_check"),
			)},
			{ResourceName: address, ImportState: true, ImportStateId: "acckernel", ImportStateVerify: true},
			{ // drift of the console and of the command line
				PreConfig: func() {
					virsh(t, "destroy", "acckernel")
					edited := strings.NewReplacer("/var/log/libvirt/acckernel.log", "/var/log/libvirt/other.log", "booted=directly", "booted=otherwise").
						Replace(virsh(t, "dumpxml", "--inactive", "acckernel"))
					file := t.TempDir() + "/edited.xml"
					if err := os.WriteFile(file, []byte(edited), 0o644); err != nil {
						t.Fatal(err)
					}
					virsh(t, "define", file)
				},
				Config: config, ConfigPlanChecks: updates(),
				Check: says(t, "dumpxml acckernel", `<log file='/var/log/libvirt/acckernel.log'`, `booted=directly`),
			},
		},
	})
}
