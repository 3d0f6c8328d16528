# A network that something else made.
data "virtcluster_network" "default" {
  name = "default"
}

output "subnet" {
  value = data.virtcluster_network.default.cidr
}
