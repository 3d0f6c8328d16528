resource "virtcluster_image" "base" {
  name   = "tiny-base.qcow2"
  pool   = "cluster"
  source = "IMAGE"
}

resource "virtcluster_image" "plain" {
  name   = "plain-root"
  pool   = "default"
  source = "IMAGE"
}
