resource "virtcluster_service_node" "storage" {
  endpoint = "ssh://root@10.0.0.100"
  services = ["nfs"]
}

# The image registry of a cluster: its nodes may write, and root among them is nobody on the server.
resource "virtcluster_nfs_export" "registry" {
  service_node = virtcluster_service_node.storage.id
  path         = "/srv/nfs/registry"
  owner        = "nobody"
  group        = "nogroup"
  permissions  = "0770"
  clients = [
    { match = "10.0.0.0/24", options = ["rw", "sync", "all_squash"] },
    { match = "10.19.41.50" }, # reads only
  ]
}
