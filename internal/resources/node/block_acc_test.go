package node_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// attachLoop makes a block device of a file, and returns the file and the device.
func attachLoop(t *testing.T, size string) (file, device string) {
	t.Helper()
	file = t.TempDir() + "/disk"
	device = strings.TrimSpace(acctest.On(t, "hypervisor", "sh", "-ec", `truncate -s "$2" "$1"; losetup --find --show "$1"`, "sh", file, size))
	t.Cleanup(func() { _, _ = acctest.Try(context.Background(), "hypervisor", "losetup", "--detach", device) })
	return file, device
}

func TestAccNodeHasABlockDevice(t *testing.T) {
	acctest.BothCLIs(t)
	pool, network, image := stage(t, "nodeblock")
	file, device := attachLoop(t, "64M")
	_, mounted := attachLoop(t, "64M")
	link, at := t.TempDir()+"/by-id", t.TempDir()
	if err := os.Symlink(device, link); err != nil {
		t.Fatal(err)
	}
	acctest.On(t, "hypervisor", "sh", "-ec", `mkfs.ext4 -q "$1"; mount "$1" "$2"`, "sh", mounted, at)
	t.Cleanup(func() { _, _ = acctest.Try(context.Background(), "hypervisor", "umount", at) })
	other := fmt.Sprintf(`<domain type='qemu'><name>other</name><memory unit='MiB'>16</memory><os><type arch='x86_64' machine='q35'>hvm</type></os><devices>
		<disk type='block' device='disk'><driver name='qemu' type='raw'/><source dev='%s'/><target dev='vda' bus='virtio'/></disk></devices></domain>`, device)
	node := func(disks string) string {
		return config(image, network, oneInterface+"  wait_for = \"guest_agent\"\n  disks = {"+disks+"}\n")
	}
	data := fmt.Sprintf(" data = { volume = %q } ", link)
	const find = "set -e; for d in /dev/vd[b-z]; do [ \"$(/bin/busybox cat /sys/block/${d#/dev/}/serial)\" != data ] || disk=$d; done\n"
	// holds checks what is at the beginning of the device.
	holds := func(want string) resource.TestCheckFunc {
		return func(*terraform.State) error {
			content, err := os.ReadFile(file)
			if err == nil && !strings.HasPrefix(string(content), want) {
				err = fmt.Errorf("the device begins with %q, not %q", content[:8], want)
			}
			return err
		}
	}
	same := running(t)
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		CheckDestroy:             holds("mine"),
		Steps: []resource.TestStep{
			{Config: node(` data = { volume = "/dev/acc-none" } `), ExpectError: wrapped("Unknown volume")},
			{Config: node(fmt.Sprintf(" data = { volume = %q } ", mounted)), ExpectError: wrapped("is mounted at")},
			{
				PreConfig: func() { virsh(t, "define", writeFile(t, other)) }, Config: node(data), ExpectError: wrapped(`domain "other" on hypervisor`),
			},
			{
				PreConfig: func() {
					virsh(t, "undefine", "other")
					virsh(t, "pool-define-as", "accfs", "fs", "--source-dev", device, "--target", t.TempDir())
				},
				Config: node(data), ExpectError: wrapped(`storage pool "accfs" on hypervisor`),
			},
			{
				PreConfig: func() { virsh(t, "pool-undefine", "accfs") },
				Config:    node(data),
				Check: resource.ComposeTestCheckFunc(
					says(t, "dumpxml acc", `(?s)<disk type='block' device='disk'>\s*<driver name='qemu' type='raw'[^>]*/>\s*<source dev='`+link+`'`),
					same, resource.TestCheckResourceAttr(address, "disks.data.format", "raw"), resource.TestCheckNoResourceAttr(address, "disks.data.size_gib"),
					inGuest(t, find+"printf mine | /bin/busybox dd of=$disk conv=fsync\n"), holds("mine"),
				),
			},
			{
				ResourceName: address, ImportState: true, ImportStateId: "acc", ImportStateVerify: true, ImportStateVerifyIgnore: []string{"root_disk.image"},
			},
			{Config: node(""), ConfigPlanChecks: updates(), Check: resource.ComposeTestCheckFunc(same, lacks(t, "dumpxml acc", link), holds("mine"))},
			{ // while it runs
				Config: node(data), ConfigPlanChecks: updates(),
				Check: resource.ComposeTestCheckFunc(same, inGuest(t, find+"[ \"$(/bin/busybox head -c4 $disk)\" = mine ]\n")),
			},
			{ // drift: another device
				PreConfig: func() {
					virsh(t, "define", writeFile(t, strings.Replace(virsh(t, "dumpxml", "--inactive", "acc"), link, "/dev/acc-none", 1)))
				},
				Config: node(data), ConfigPlanChecks: updates(), Check: says(t, "dumpxml acc --inactive", `<source dev='`+link+`'`),
			},
			{Config: node(""), Check: lacks(t, "dumpxml acc", link)},
		},
	})
	if got := virsh(t, "vol-list", pool); strings.Contains(got, "by-id") {
		t.Errorf("the pool has something of the device:\n%s", got)
	}
}

func TestAccNodeReadsVolumesOfOtherFormats(t *testing.T) {
	pool, network, image := stage(t, "nodeformats")
	file := strings.TrimSuffix(image, "/tiny.qcow2") + "/data.vmdk"
	acctest.On(t, "hypervisor", "qemu-img", "create", "-q", "-f", "vmdk", file, "64M")
	virsh(t, "pool-refresh", pool)
	t.Cleanup(func() { virsh(t, "vol-delete", "data.vmdk", pool) })
	node := func(format, more string) string {
		return config(image, network, oneInterface+more+fmt.Sprintf("  wait_for = \"guest_agent\"\n  disks = { data = { volume = %q%s } }\n", file, format))
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			{Config: node("", ""), ExpectError: wrapped("Format to be said")},
			{Config: config(image, network, "  disks = { data = { size_gib = 1, format = \"raw\" } }\n"), ExpectError: wrapped("Format of the node's own disk")},
			{
				Config: node(", format = \"vmdk\"", ""),
				Check:  resource.ComposeTestCheckFunc(says(t, "dumpxml acc", `type='vmdk'`), inGuest(t, "for d in /dev/vd[b-z]; do [ \"$(/bin/busybox cat /sys/block/${d#/dev/}/size)\" != 131072 ] || exit 0; done; exit 1\n")),
			},
			{
				ResourceName: address, ImportState: true, ImportStateId: "acc", ImportStateVerify: true, ImportStateVerifyIgnore: []string{"root_disk.image"},
			},
			{Config: node("", ""), PlanOnly: true}, // what is left out stays
			{Config: node(", format = \"raw\"", ""), ExpectError: wrapped("needs a restart")},
			{ // drift
				PreConfig: func() {
					virsh(t, "define", writeFile(t, strings.Replace(virsh(t, "dumpxml", "--inactive", "acc"), "type='vmdk'", "type='raw'", 1)))
				},
				Config: node(", format = \"vmdk\"", "  allow_restart = true\n"), ConfigPlanChecks: updates(), Check: says(t, "dumpxml acc", `type='vmdk'`),
			},
		},
	})
}
