# All masters of one cluster, on whichever hypervisor they are and whichever state they belong to.
data "virtcluster_nodes" "masters" {
  role   = "master"
  labels = { cluster = "okd" }
}

output "master_addresses" {
  value = { for node in data.virtcluster_nodes.masters.nodes : node.name => node.addresses["eth0"] }
}
