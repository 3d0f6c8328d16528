terraform {
  required_providers {
    virtcluster = { source = "virtcluster/virtcluster" }
  }
}

# 222 and 61
output "virtual_router_ids" {
  value = { for role in ["api", "ingress"] : role => provider::virtcluster::virtual_router_id("ocp4", role) }
}

# 29: what the bootstrap machine had before OpenShift 4.5.
output "virtual_router_id_before_4_5" {
  value = provider::virtcluster::virtual_router_id("ocp4", "api", "masked")
}
