package node_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// Other providers name a machine's disks as volumes of pools, by no path.
func TestAccNodeImportedWithDisksThatAreNamedAsVolumes(t *testing.T) {
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
