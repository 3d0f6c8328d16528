terraform {
  required_providers {
    virtcluster = { source = "virtcluster/virtcluster" }
  }
}

# 10.128.0.0/23, 10.128.2.0/23 and 10.128.4.0/23
output "pod_cidrs" {
  value = [for index in range(3) : provider::virtcluster::pod_cidr("10.128.0.0/14", 23, index)]
}
