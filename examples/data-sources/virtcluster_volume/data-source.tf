# A disk with data, which a person made.
data "virtcluster_volume" "data" {
  pool = "default"
  name = "data.qcow2"
}

resource "virtcluster_node" "web" {
  name       = "web"
  memory_mib = 2048
  root_disk  = { image = "/var/lib/libvirt/images/debian-12.qcow2", size_gib = 20 }
  disks      = { data = { volume = data.virtcluster_volume.data.id } }
}
