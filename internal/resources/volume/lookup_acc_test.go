package volume_test

import (
	"os"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// byHand makes a pool with an image, an overlay of it and a machine on that, as a person does.
func byHand(t *testing.T) {
	t.Helper()
	const dir = "/var/lib/libvirt/lookup-test"
	acctest.Virsh(t, "pool-define-as", "lookup", "dir", "--target", dir)
	acctest.Virsh(t, "pool-build", "lookup")
	run(t, "cp", os.Getenv("SANDBOX_TINY_IMAGE"), dir+"/base.qcow2")
	acctest.Virsh(t, "pool-start", "lookup")
	acctest.Virsh(t, "vol-create-as", "lookup", "disk.qcow2", "3GiB", "--format", "qcow2", "--backing-vol", "base.qcow2", "--backing-vol-format", "qcow2")
	file := t.TempDir() + "/domain.xml"
	domain := `<domain type="qemu"><name>lookup-vm</name><memory unit="MiB">96</memory><vcpu>2</vcpu><os><type machine="q35">hvm</type></os>
<devices><disk type="file" device="disk"><driver name="qemu" type="qcow2"/><source file="` + dir + `/disk.qcow2"/><target dev="vda" bus="virtio"/></disk></devices></domain>`
	if err := os.WriteFile(file, []byte(domain), 0o600); err != nil {
		t.Fatal(err)
	}
	acctest.Virsh(t, "define", file)
	t.Cleanup(func() {
		for _, argv := range [][]string{{"undefine", "lookup-vm"}, {"vol-delete", "disk.qcow2", "lookup"}, {"vol-delete", "base.qcow2", "lookup"}, {"pool-destroy", "lookup"}, {"pool-undefine", "lookup"}} {
			acctest.Virsh(t, argv...)
		}
		run(t, "rm", "-rf", dir)
	})
}

const lookups = `
data "virtcluster_pool" "p" {
  name = "lookup"
}
data "virtcluster_volume" "v" {
  pool = data.virtcluster_pool.p.name
  name = "disk.qcow2"
}
data "virtcluster_image" "i" {
  pool = "lookup"
  name = "base.qcow2"
}
data "virtcluster_node" "n" {
  name = "lookup-vm"
}
`

// What a person made is looked up, whole, and stays as it is: libvirt's XML is the same afterwards, and so are the files.
func TestAccLookups(t *testing.T) {
	acctest.BothCLIs(t)
	acctest.InSandbox(t)
	byHand(t)
	look := func() string {
		return acctest.Virsh(t, "dumpxml", "lookup-vm") + run(t, "sh", "-c", "virsh pool-dumpxml lookup | grep -v -e allocation -e available") +
			run(t, "sh", "-c", "cd /var/lib/libvirt/lookup-test; sha256sum *")
	}
	before := look()
	const disk = "/var/lib/libvirt/lookup-test/disk.qcow2"
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			{Config: acctest.Provider() + lookups, Check: resource.ComposeAggregateTestCheckFunc(
				resource.TestCheckResourceAttr("data.virtcluster_pool.p", "path", "/var/lib/libvirt/lookup-test"),
				resource.TestCheckResourceAttr("data.virtcluster_pool.p", "active", "true"),
				resource.TestCheckResourceAttr("data.virtcluster_volume.v", "size_gib", "3"),
				resource.TestCheckResourceAttr("data.virtcluster_volume.v", "id", disk),
				resource.TestCheckResourceAttr("data.virtcluster_volume.v", "image", "/var/lib/libvirt/lookup-test/base.qcow2"),
				resource.TestCheckResourceAttr("data.virtcluster_image.i", "format", "qcow2"),
				resource.TestCheckResourceAttrSet("data.virtcluster_image.i", "virtual_size_bytes"),
				resource.TestCheckNoResourceAttr("data.virtcluster_image.i", "checksum"),
				resource.TestCheckResourceAttr("data.virtcluster_node.n", "memory_mib", "96"),
				resource.TestCheckResourceAttr("data.virtcluster_node.n", "vcpus", "2"),
				resource.TestCheckResourceAttr("data.virtcluster_node.n", "state", "shutoff"),
				resource.TestCheckNoResourceAttr("data.virtcluster_node.n", "ignition"),
			)},
			// Those of another state, which the same configuration makes.
			{Config: config("  size_gib = 1\n") + `
data "virtcluster_volume" "v" {
  pool = virtcluster_volume.v.pool
  name = virtcluster_volume.v.name
}
`, Check: resource.TestCheckResourceAttrPair("data.virtcluster_volume.v", "id", "virtcluster_volume.v", "id")},
		},
	})
	if after := look(); after != before {
		t.Errorf("what was looked at has changed:\n%s\nbefore:\n%s", after, before)
	}
	s := acctest.NewState(t)
	for name, c := range map[string]struct{ config, want string }{
		"pool":       {"data \"virtcluster_pool\" \"p\" {\n  name = \"nothing\"\n}", `Cannot read storage pool "nothing"`},
		"volume":     {"data \"virtcluster_volume\" \"v\" {\n  name = \"nothing\"\n  pool = \"lookup\"\n}", `Cannot read volume "lookup/nothing"`},
		"node":       {"data \"virtcluster_node\" \"n\" {\n  name = \"nothing\"\n}", `Cannot read node "nothing"`},
		"hypervisor": {"data \"virtcluster_pool\" \"p\" {\n  name = \"lookup\"\n  hypervisor = \"x\"\n}", `no hypervisor "x"`},
	} {
		t.Run(name, func(t *testing.T) {
			s := s.For(t)
			s.Write(acctest.Provider() + c.config)
			s.Refused([]string{c.want}, "plan")
		})
	}
}
