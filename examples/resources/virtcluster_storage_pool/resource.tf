resource "virtcluster_storage_pool" "okd" {
  name = "okd"
  path = "/var/lib/libvirt/okd"
}
