resource "virtcluster_service_node" "balancer" {
  endpoint = "ssh://root@10.0.0.100"
  services = ["haproxy"]
}

data "virtcluster_haproxy_status" "balancer" {
  service_node = virtcluster_service_node.balancer.id
}

# Which API servers take requests, and why the others do not.
output "api_servers" {
  value = {
    for name, server in try(data.virtcluster_haproxy_status.balancer.backends["api"].servers, {}) :
    name => server.up ? "up" : server.check
  }
}
