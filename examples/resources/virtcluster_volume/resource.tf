resource "virtcluster_volume" "data" {
  name     = "okd-worker-01-data.qcow2"
  pool     = "default"
  size_gib = 100
}

# An overlay of an image takes the image's size, or a larger one.
resource "virtcluster_image" "fcos" {
  name   = "fcos.qcow2"
  source = "${path.module}/fcos.qcow2.xz"
}

resource "virtcluster_volume" "root" {
  name     = "bastion.qcow2"
  image    = virtcluster_image.fcos.id
  size_gib = 20
}
