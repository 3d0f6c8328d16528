package node_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// Other providers name a machine's disks as volumes of pools, by no path.
func TestAccNodeImportedWithDisksThatAreNamedAsVolumes(t *testing.T) {
	acctest.BothCLIs(t)
	pool, network, image := stage(t, "nodenamed")
	virsh(t, "vol-create-as", pool, "hand.qcow2", "1G", "--format", "qcow2", "--backing-vol", image, "--backing-vol-format", "qcow2")
	virsh(t, "vol-create-as", pool, "data.raw", "64M", "--format", "raw")
	t.Cleanup(func() { virsh(t, "vol-delete", "data.raw", pool) }) // it is not the node's
	file := t.TempDir() + "/hand.xml"
	xml := fmt.Sprintf(`<domain type='qemu'><name>acc</name><memory unit='MiB'>64</memory><vcpu>1</vcpu><os><type arch='x86_64' machine='q35'>hvm</type></os><devices>
		<controller type='pci' index='0' model='pcie-root'/><controller type='pci' index='1' model='pcie-root-port'/><controller type='pci' index='2' model='pcie-root-port'/>
		<controller type='pci' index='3' model='pcie-root-port'/><controller type='pci' index='4' model='pcie-root-port'/><controller type='pci' index='5' model='pcie-root-port'/>
		<controller type='pci' index='6' model='pcie-root-port'/><controller type='pci' index='7' model='pcie-root-port'/>
		<disk type='volume' device='disk'><driver name='qemu' type='qcow2'/><source pool='%[1]s' volume='hand.qcow2'/><target dev='vda' bus='virtio'/></disk>
		<disk type='volume' device='disk'><driver name='qemu' type='raw' cache='unsafe'/><source pool='%[1]s' volume='data.raw'/><target dev='sda' bus='scsi'/><serial>data</serial></disk>
		<controller type='scsi' model='virtio-scsi'/><interface type='network'><source network='%[2]s'/><model type='virtio'/></interface>
	</devices></domain>`, pool, network)
	if err := os.WriteFile(file, []byte(xml), 0o644); err != nil {
		t.Fatal(err)
	}
	virsh(t, "define", file)
	virsh(t, "start", "acc")
	taken := acctest.Provider() + strings.NewReplacer("IMAGE", image, "DIR", strings.TrimSuffix(image, "/tiny.qcow2"), "NET", network).Replace(`
import {
  to = virtcluster_node.n
  id = "acc"
}
resource "virtcluster_node" "n" {
  name               = "acc"
  type               = "qemu"
  autostart          = false
  root_disk          = { image = "IMAGE" }
  disks              = { data = { volume = "DIR/data.raw", bus = "scsi" } }
  network_interfaces = [{ network = "NET" }]
  console            = { type = "none" }
}
`)
	named := func(volume, target string) string {
		return `(?s)<source pool='nodenamed' volume='` + volume + `'[^>]*/>\s*(<backingStore.*?</backingStore>|<backingStore/>)?\s*<target dev='` + target + `'`
	}
	same := running(t)
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			{Config: taken, ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectResourceAction(address, plancheck.ResourceActionNoop)}}},
			{ // the disk leaves a bus on which it has the name that the root disk has on the other one
				Config:           strings.NewReplacer(`bus = "scsi"`, `bus = "virtio"`, `tiny.qcow2" }`, `tiny.qcow2", size_gib = 2 }`, `autostart `, "shutdown_timeout = \"0s\"\n  autostart ").Replace(taken),
				ConfigPlanChecks: updates(),
				Check: resource.ComposeTestCheckFunc(same, says(t, "dumpxml acc", named("hand.qcow2", "vda"), named("data.raw", "vdb"), `cache='unsafe'`),
					says(t, "dumpxml --inactive acc", named("hand.qcow2", "vda"), named("data.raw", "vdb")), says(t, "vol-info "+image[:len(image)-len("tiny.qcow2")]+"hand.qcow2", `2\.00 GiB`)),
			},
		},
	})
}

// inGuest fails the test where a script does not succeed inside the node.
func inGuest(t *testing.T, script string) resource.TestCheckFunc {
	return func(*terraform.State) error {
		_, err := acctest.InGuest(t.Context(), "acc", script)
		return err
	}
}

func TestAccNodeGetsItsDisksBackWithWhatIsOnThem(t *testing.T) {
	_, network, image := stage(t, "nodetaken")
	made := config(image, network, oneInterface+"  wait_for = \"guest_agent\"\n  disks = { data = { size_gib = 1 } }\n")
	const find = "set -e; for d in /dev/vd[b-z]; do [ \"$(/bin/busybox cat /sys/block/${d#/dev/}/serial)\" != data ] || disk=$d; done\n"
	same := running(t)
	reads := resource.ComposeTestCheckFunc(same, inGuest(t, find+"[ \"$(/bin/busybox head -c4 $disk)\" = mine ]\n"), func(*terraform.State) error {
		for _, flags := range [][]string{{"domblklist", "acc"}, {"domblklist", "acc", "--inactive"}} {
			t.Run(fmt.Sprint(flags), func(t *testing.T) {
				if got := virsh(t, flags...); strings.Count(got, "acc-data.qcow2") != 1 {
					t.Errorf("%v:\n%s", flags, got)
				}
			})
		}
		return nil
	})
	taken := func(flags ...string) resource.TestStep {
		return resource.TestStep{
			PreConfig: func() {
				virsh(t, append([]string{"detach-disk", "acc", "vdb"}, flags...)...)
				for n := 0; flags[0] == "--live" && strings.Contains(virsh(t, "domblklist", "acc"), "acc-data"); n++ {
					if time.Sleep(100 * time.Millisecond); n == 600 {
						t.Fatal("the guest does not let go of the disk")
					}
				}
			},
			Config: made, ConfigPlanChecks: updates(), Check: reads,
		}
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			{Config: made, Check: resource.ComposeTestCheckFunc(same, inGuest(t, find+"printf mine | /bin/busybox dd of=$disk bs=4 conv=notrunc,fsync\n"))},
			taken("--config"), taken("--live"), taken("--live", "--config"),
			{
				PreConfig: func() { virsh(t, "detach-interface", "acc", "network", "--live") },
				Config:    made, ConfigPlanChecks: updates(), Check: same,
			},
		},
	})
}

func TestAccNodeThatIsStoppedGetsADiskOnAnotherBus(t *testing.T) {
	_, network, image := stage(t, "nodebus")
	s := acctest.NewState(t)
	s.DestroyAtEnd()
	for _, bus := range []string{"virtio", "sata", "scsi", "usb", "virtio", "usb", "scsi"} {
		made := config(image, network, fmt.Sprintf("  running = false\n  disks = { d = { size_gib = 1, bus = %q } }\n", bus))
		s.Apply(strings.Replace(made, "size_gib = 1 }", fmt.Sprintf("size_gib = 1, bus = %q }", bus), 1))
		s.Settled()
		says(t, "dumpxml acc", "dev='[a-z]+' bus='"+bus+"'/>\\s*<serial>d<")
	}
}
