resource "virtcluster_storage_pool" "cluster" {
  name = "cluster"
  path = "/srv/cluster"
}

resource "virtcluster_storage_pool" "legacy" {
  name = "legacy"
  path = "/srv/legacy"
}
