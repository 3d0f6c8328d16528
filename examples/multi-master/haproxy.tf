locals {
  api_servers = { for name, node in merge(var.masters, local.bootstrap) : name => node.ip }

  # Port of each service, who answers it, and the addresses it is offered on: machine configuration (22623)
  # inside only.
  balanced = {
    api            = { port = 6443, servers = local.api_servers, addresses = values(var.vips) }
    machine-config = { port = 22623, servers = local.api_servers, addresses = [var.vips.inside] }
    ingress-http   = { port = 80, servers = { for name, node in var.workers : name => node.ip }, addresses = values(var.vips) }
    ingress-https  = { port = 443, servers = { for name, node in var.workers : name => node.ip }, addresses = values(var.vips) }
  }

  on_each_service_node = merge([for node in keys(var.services) : {
    for name, what in local.balanced : "${node}/${name}" => merge(what, { node = node, name = name })
  }]...)
}

# A server that does not answer within a second is passed over: until checks have found out, its clients wait that long and get another.
resource "virtcluster_haproxy" "service" {
  for_each = virtcluster_service_node.service

  service_node = each.value.id
  mode         = "tcp"
  maxconn      = 8000
  options      = ["dontlognull", "redispatch 1"]
  timeouts     = { connect = "1s", client = "60s", server = "60s", check = "5s" }
  stats        = { address = "127.0.0.1", port = 9000 }
}

resource "virtcluster_haproxy_backend" "balanced" {
  for_each = local.on_each_service_node

  service_node   = virtcluster_haproxy.service[each.value.node].service_node
  name           = each.value.name
  mode           = "tcp"
  balance        = "roundrobin"
  default_server = { inter = "1s", fall = 2, rise = 2 }

  servers = {
    for name, ip in each.value.servers : name => {
      address = ip
      port    = each.value.port
      check   = true
      backup  = contains(keys(local.bootstrap), name)
    }
  }
}

resource "virtcluster_haproxy_frontend" "balanced" {
  for_each = local.on_each_service_node

  service_node    = virtcluster_haproxy.service[each.value.node].service_node
  name            = each.value.name
  mode            = "tcp"
  binds           = [for address in each.value.addresses : { address = address, port = each.value.port }]
  default_backend = virtcluster_haproxy_backend.balanced[each.key].name
}
