resource "virtcluster_service_node" "edge" {
  endpoint = "ssh://root@10.0.0.100"
  services = ["haproxy", "nftables"]
}

resource "virtcluster_address_pool" "lan" {
  service_node    = virtcluster_service_node.edge.id
  name            = "lan"
  ranges          = ["10.19.41.200-10.19.41.219"]
  avoid_buggy_ips = true
}

# One guest at an address of its own: it sees who asks, and the machine is its gateway.
resource "virtcluster_exposed_service" "bastion" {
  service_node      = virtcluster_service_node.edge.id
  name              = "bastion"
  type              = "external_ip"
  pool              = virtcluster_address_pool.lan.id
  configure_address = true
  ports             = { ssh = { port = 22 } }
  targets           = ["10.0.0.10"]
  source_ranges     = ["10.19.41.0/24"]
}

# Several guests behind one address: HAProxy carries TCP, rules carry UDP.
resource "virtcluster_exposed_service" "web" {
  service_node      = virtcluster_service_node.edge.id
  name              = "web"
  type              = "load_balancer"
  pool              = virtcluster_address_pool.lan.id
  configure_address = true
  ports = {
    https = { port = 443, target_port = 8443 }
    quic  = { port = 443, target_port = 8443, protocol = "udp" }
  }
  targets = ["10.0.0.11", "10.0.0.12"]
}

# A port of every address that the machine has: the lowest that is free, which stays.
resource "virtcluster_exposed_service" "metrics" {
  service_node = virtcluster_service_node.edge.id
  name         = "metrics"
  type         = "node_port"
  ports        = { metrics = { target_port = 9100 } }
  targets      = ["10.0.0.11"]
}

output "web" {
  value = "https://${virtcluster_exposed_service.web.address}"
}
