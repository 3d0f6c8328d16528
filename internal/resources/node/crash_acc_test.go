package node_test

import (
	"fmt"
	"os"
	"regexp"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// Guests of one sector each: the first tells QEMU's panic device (port 0x505) that it crashed, the other sleeps.
var (
	panics = []byte{0xba, 0x05, 0x05, 0xb0, 0x01, 0xee, 0xf4, 0xeb, 0xfd}
	sleeps = []byte{0xf4, 0xeb, 0xfd}
)

// TestAccNodeWhoseGuestCrashed has libvirt keep the process of a machine whose guest crashed.
func TestAccNodeWhoseGuestCrashed(t *testing.T) {
	pool, _, _ := stage(t, "nodecrash")
	disk := "/var/lib/libvirt/" + pool + "/hand.raw"
	guest := func(code []byte) {
		sector := make([]byte, 512)
		copy(sector, code)
		sector[510], sector[511] = 0x55, 0xaa
		file, err := os.OpenFile(disk, os.O_WRONLY|os.O_CREATE, 0o600)
		if err == nil {
			_, err = file.WriteAt(sector, 0)
		}
		if err == nil {
			err = file.Truncate(1 << 30)
		}
		if err != nil || file.Close() != nil {
			t.Fatal(err)
		}
	}
	xml := t.TempDir() + "/domain.xml"
	err := os.WriteFile(xml, fmt.Appendf(nil, `<domain type='qemu'><name>acc</name><memory unit='MiB'>64</memory><vcpu>1</vcpu><os><type machine='q35'>hvm</type><boot dev='hd'/></os>
		<on_crash>preserve</on_crash><devices><disk type='file' device='disk'><driver name='qemu' type='raw'/><source file='%s'/><target dev='vda' bus='virtio'/></disk>
		<serial type='pty'/><panic model='isa'/></devices></domain>`, disk), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	hand := acctest.Provider() + "resource \"virtcluster_node\" \"n\" {\n  name = \"acc\"\n  type = \"qemu\"\n  memory_mib = 64\n  root_disk = { size_gib = 1 }\n}\n"
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		CheckDestroy: func(*terraform.State) error {
			if _, err := os.Stat("/run/libvirt/qemu/acc.pid"); !os.IsNotExist(err) {
				t.Errorf("the machine's process is left: %v", err)
			}
			return nil
		},
		Steps: []resource.TestStep{
			{
				PreConfig: func() {
					guest(panics)
					virsh(t, "pool-refresh", pool)
					virsh(t, "define", xml)
					virsh(t, "start", "acc")
					prints(t, "^crashed", "domstate", "acc")
				},
				Config: hand, ResourceName: address, ImportState: true, ImportStateId: "acc", ImportStatePersist: true,
				ImportStateCheck: func(states []*terraform.InstanceState) error {
					if got := states[0].Attributes["state"]; got != "crashed" {
						t.Errorf("its state is %q", got)
					}
					return nil
				},
			},
			{PreConfig: func() { guest(sleeps) }, Config: hand, ConfigPlanChecks: updates(), Check: says(t, "domstate acc", "^running")},
			{
				PreConfig: func() {
					guest(panics)
					virsh(t, "reset", "acc")
					prints(t, "^crashed", "domstate", "acc")
				},
				Config: hand, Destroy: true,
			},
		},
	})
}

// TestAccNodeNeedsItsBridgeToBegin has a resource of another machine promise a bridge of that name when planning.
func TestAccNodeNeedsItsBridgeToBegin(t *testing.T) {
	acctest.InSandbox(t)
	made := acctest.Provider() + `
resource "virtcluster_network" "b" {
  name       = "latebridge"
  mode       = "isolated"
  bridge     = "latebr0"
  active     = false
}
resource "virtcluster_node" "n" {
  name               = "acc"
  type               = "qemu"
  memory_mib         = 32
  network_interfaces = [{ bridge = virtcluster_network.b.bridge }]
}
`
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			{Config: made, ExpectError: regexp.MustCompile(`(?s)Cannot create node "acc".*network_interfaces\[0\]\.bridge:\s+the\s+hypervisor\s+has\s+no\s+bridge\s+"latebr0"`)},
			{PreConfig: func() {
				if got := virsh(t, "list", "--all", "--name"); regexp.MustCompile(`\bacc\b`).MatchString(got) {
					t.Errorf("a domain was made: %s", got)
				}
			}, Config: acctest.Provider()},
		},
	})
}
