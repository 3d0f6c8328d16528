# A machine that another state, or a person, made.
data "virtcluster_node" "gateway" {
  name = "gateway"
}

output "addresses" {
  value = data.virtcluster_node.gateway.addresses
}
