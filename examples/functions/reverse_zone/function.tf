terraform {
  required_providers {
    virtcluster = { source = "virtcluster/virtcluster" }
  }
}

# The reverse zone of the cluster's network: 0.0.10.in-addr.arpa
output "zone" {
  value = provider::virtcluster::reverse_zone("10.0.0.0/24")
}
