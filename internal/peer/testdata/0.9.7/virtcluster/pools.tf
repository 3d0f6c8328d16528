resource "virtcluster_storage_pool" "cluster" {
  name = "cluster"
  path = "/srv/cluster"
}

resource "virtcluster_storage_pool" "data" {
  name = "data"
  path = "/srv/data"
}
