resource "virtcluster_service_node" "gateway" {
  for_each = { "10.0.0.100" = 200, "10.0.0.101" = 100 }

  endpoint = "ssh://root@${each.key}"
  services = ["keepalived", "haproxy"]
}

# One of the two machines holds 10.0.0.250: the one with the higher priority, as long as HAProxy runs on it.
resource "virtcluster_vip" "api" {
  name      = "okd-api"
  addresses = ["10.0.0.250/24"]

  members = [for address, node in virtcluster_service_node.gateway : {
    service_node = node.id
    interface    = "eth0"
    address      = address
    priority     = { "10.0.0.100" = 200, "10.0.0.101" = 100 }[address]
  }]

  track = [{ name = "haproxy", process = "haproxy" }]
}
