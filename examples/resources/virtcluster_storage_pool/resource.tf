resource "virtcluster_storage_pool" "okd" {
  name = "okd"
  path = "/var/lib/libvirt/okd"
}

# What another machine exports, mounted on the hypervisor.
resource "virtcluster_storage_pool" "shared" {
  name   = "shared"
  type   = "netfs"
  path   = "/var/lib/libvirt/shared"
  source = { hosts = ["10.0.0.5"], path = "/srv/images", format = "nfs" }
}

# A volume group that is there, for disks of nodes (disks = { data = { size_gib = 100, pool = "fast" } }).
resource "virtcluster_storage_pool" "fast" {
  name   = "fast"
  type   = "logical"
  source = { name = "vg0" }
}
