output "api" {
  description = "Where the API answers, inside and outside."
  value       = { inside = "https://${var.vips.inside}:6443", outside = "https://${var.vips.outside}:6443" }
}

output "vip_owner" {
  description = "The machine that holds the virtual addresses."
  value       = { inside = virtcluster_vip.inside.owner, outside = virtcluster_vip.outside.owner }
}

output "nodes" {
  description = "Role, state and address of each node."
  value       = { for name, node in virtcluster_node.node : name => { role = node.role, state = node.state, ip = local.nodes[name] } }
}
