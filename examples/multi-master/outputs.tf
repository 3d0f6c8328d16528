output "nodes" {
  description = "Every node's role, state and address."
  value = { for name, node in merge(virtcluster_node.cluster, virtcluster_node.service) : name => {
    role  = node.role
    state = node.state
    ip    = local.nodes[name]
  } }
}

output "api" {
  description = "Where the API answers, inside and outside."
  value       = { inside = "https://${var.vips.inside}:6443", outside = "https://${var.vips.outside}:6443" }
}

output "vip_owner" {
  description = "The service node that holds the virtual addresses."
  value       = { inside = virtcluster_vip.inside.owner, outside = virtcluster_vip.outside.owner }
}
