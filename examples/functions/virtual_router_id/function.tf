terraform {
  required_providers {
    virtcluster = { source = "virtcluster/virtcluster" }
  }
}

# 222 and 61
output "virtual_router_ids" {
  value = { for role in ["api", "ingress"] : role => provider::virtcluster::virtual_router_id("ocp4", role) }
}
