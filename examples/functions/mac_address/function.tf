terraform {
  required_providers {
    virtcluster = { source = "virtcluster/virtcluster" }
  }
}

# The MAC address of the first interface of okd-master-01: 52:54:00:22:5d:84
output "mac" {
  value = provider::virtcluster::mac_address("okd-master-01", 0)
}
