package volume_test

import (
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// withNode is a node that does not run, with a volume as a disk where disks says so.
func withNode(disks, format string) string {
	node := `
resource "virtcluster_node" "n" {
  name       = "volume-user"
  type       = "qemu"
  memory_mib = 64
  running    = false
  root_disk  = { image = virtcluster_image.base.id, pool = virtcluster_storage_pool.p.name, size_gib = 1 }
` + disks + "}\n"
	if format == "" {
		return base() + node
	}
	return config("  size_gib = 1\n  format = \""+format+"\"\n") + node
}

// A volume goes with the disk that it was, in one apply.
func TestAccVolumeOfANode(t *testing.T) {
	acctest.InSandbox(t)
	const disk = "  disks = { data = { volume = virtcluster_volume.v.id } }\n"
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			{Config: withNode(disk, "qcow2")},
			{Config: withNode("", "")},
			{Config: withNode(disk, "qcow2")},
		},
	})
}

// A volume that a node names by its path, which Terraform does not know for a reference, stays while the node is to have it.
func TestAccVolumeOfANodeByItsPathStays(t *testing.T) {
	acctest.InSandbox(t)
	s := acctest.NewState(t)
	s.DestroyAtEnd()
	s.Apply(withNode("", "qcow2"))
	const path = poolDir + "/v"
	disk := "  disks = { data = { volume = \"" + path + "\" } }\n"
	s.Apply(withNode(disk, "qcow2"))
	s.Settled()
	s.Write(withNode(disk, ""))
	s.Refused([]string{path, "destroyed", "the same plan"}, "plan")
	acctest.Virsh(t, "vol-info", path)
	s.Apply(withNode("", ""))
	s.Settled()
}

// What is in a volume would be lost where its for_each key is renamed.
func TestAccVolumeOfARenamedKeyIsMoved(t *testing.T) {
	acctest.InSandbox(t)
	one := strings.Replace(config("  size_gib = 1\n"), `resource "virtcluster_volume" "v" {`, `resource "virtcluster_volume" "v" {
  for_each = toset(["old"])`, 1)
	s := acctest.NewState(t)
	s.DestroyAtEnd()
	s.Apply(one)
	s.Write(strings.ReplaceAll(one, `"old"`, `"new"`))
	s.Refused([]string{"Destroyed and made under one name", `"v"`, "virtcluster_volume.NEW"}, "plan")
	s.Apply(one)
	s.Settled()
}
