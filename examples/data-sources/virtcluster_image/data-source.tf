# An image that another state uploaded.
data "virtcluster_image" "debian" {
  pool = "default"
  name = "debian-12.qcow2"
}

resource "virtcluster_node" "web" {
  name       = "web"
  memory_mib = 2048
  root_disk  = { image = data.virtcluster_image.debian.id, size_gib = 20 }
}
