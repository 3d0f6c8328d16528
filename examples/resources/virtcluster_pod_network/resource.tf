# Each node gets a /23 of the pod network, and a route to the pods of every other node.
resource "virtcluster_pod_network" "pods" {
  cidr        = "10.128.0.0/14"
  host_prefix = 23
  nodes = {
    master-1 = "10.0.0.1"
    master-2 = "10.0.0.2"
    worker-1 = "10.0.0.11"
  }
}

locals {
  routes = merge([
    for node, routes in virtcluster_pod_network.pods.routes : {
      for r in routes : "${node} to ${r.cidr}" => { node = node, cidr = r.cidr, via = r.via }
    }
  ]...)
}

# On machines that run; a node that is added is reached by all others after one apply.
resource "virtcluster_route" "pods" {
  for_each = local.routes
  host     = "ssh://root@${virtcluster_pod_network.pods.nodes[each.value.node]}"
  cidr     = each.value.cidr
  via      = each.value.via
}
