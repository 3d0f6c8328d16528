locals {
  gateways = {
    gw-1 = { address = "10.0.0.100", priority = 200 }
    gw-2 = { address = "10.0.0.101", priority = 100 }
  }
}

resource "virtcluster_service_node" "gateway" {
  for_each = local.gateways

  endpoint = "ssh://root@${each.value.address}"
  services = ["keepalived", "haproxy"]
}

# One of the two machines holds 10.0.0.250: the one with the higher priority, as long as HAProxy runs on it.
resource "virtcluster_vip" "api" {
  name      = "okd-api"
  addresses = ["10.0.0.250/24"]

  members = { for name, gateway in local.gateways : name => {
    service_node = virtcluster_service_node.gateway[name].id
    interface    = "eth0"
    address      = gateway.address
    priority     = gateway.priority
  } }

  track = [{ name = "haproxy", process = "haproxy" }]
}
