# What there is once for each service machine, whichever clusters it serves.
terraform {
  required_providers {
    virtcluster = { source = "virtcluster/virtcluster" }
  }
}

resource "virtcluster_service_node" "machine" {
  for_each = var.machines

  endpoint = "ssh://root@${each.value.address}"
  host_key = each.value.host_key
  services = ["bind", "haproxy", "keepalived"]
}

resource "virtcluster_dns_server" "machine" {
  for_each = virtcluster_service_node.machine

  service_node      = each.value.id
  listen_on         = ["any"]
  allow_query       = ["any"]
  dnssec_validation = "no"
}

# Who asks at an outside address learns outside addresses. It goes first: who asks from outside may have an inside address.
resource "virtcluster_dns_view" "external" {
  for_each = virtcluster_dns_server.machine

  service_node       = each.value.service_node
  name               = "external"
  order              = 10
  match_destinations = [var.outside]
}

resource "virtcluster_dns_view" "internal" {
  for_each = virtcluster_dns_server.machine

  service_node  = each.value.service_node
  name          = "internal"
  order         = 20
  match_clients = concat(var.inside, ["localhost"])
  recursion     = true
}

resource "virtcluster_haproxy" "machine" {
  for_each = virtcluster_service_node.machine

  service_node = each.value.id
  mode         = "tcp"
  maxconn      = 8000
  options      = ["dontlognull", "redispatch 1"]
  timeouts     = { connect = "1s", client = "60s", server = "60s", check = "5s" }
  stats        = { address = "127.0.0.1", port = 9000 }
}
