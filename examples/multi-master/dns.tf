locals {
  nodes = merge(
    { for name, node in local.cluster : name => node.ip },
    { for name, node in var.services : name => node.ip },
  )
  etcd = { for index, name in sort(keys(var.masters)) : "etcd-${index}" => var.masters[name].ip }
}

resource "virtcluster_dns_server" "service" {
  for_each = virtcluster_service_node.service

  service_node      = each.value.id
  listen_on         = ["any"]
  allow_query       = ["any"]
  dnssec_validation = "no"
}

# Who asks an external address learns the external address, and never api-int. This view goes first and looks
# at the address that was asked: the external LAN lies in 10.0.0.0/8, so who asks would not tell.
resource "virtcluster_dns_view" "external" {
  for_each = virtcluster_dns_server.service

  service_node       = each.value.service_node
  name               = "external"
  order              = 10
  match_destinations = concat([for node in values(var.services) : node.external_ip], [var.vips.outside])
}

# Who asks from inside learns everything.
resource "virtcluster_dns_view" "internal" {
  for_each = virtcluster_dns_server.service

  service_node  = each.value.service_node
  name          = "internal"
  order         = 20
  match_clients = ["10.0.0.0/8", "localhost"]
  recursion     = true
}

resource "virtcluster_dns_zone" "internal" {
  for_each = virtcluster_dns_view.internal

  service_node = each.value.service_node
  view         = each.value.name
  name         = var.domain
  ttl          = 60
  name_servers = [for name in keys(var.services) : "${name}.${var.domain}."]

  records = merge(
    { for name, ip in local.nodes : name => { A = [ip] } },
    { for name, ip in local.etcd : name => { A = [ip] } },
    {
      api                     = { A = [var.vips.inside] }
      api-int                 = { A = [var.vips.inside] }
      "*.apps"                = { A = [var.vips.inside] }
      "_etcd-server-ssl._tcp" = { SRV = [for name in keys(local.etcd) : "0 10 2380 ${name}.${var.domain}."] }
    },
  )

  # The names lead to the virtual addresses, so they are there once those are.
  depends_on = [virtcluster_vip.inside]
}

resource "virtcluster_dns_zone" "reverse" {
  for_each = virtcluster_dns_view.internal

  service_node = each.value.service_node
  view         = each.value.name
  cidr         = virtcluster_network.management.cidr
  ttl          = 60
  name_servers = [for name in keys(var.services) : "${name}.${var.domain}."]
  pointers     = { for name, ip in local.nodes : ip => "${name}.${var.domain}." }
}

resource "virtcluster_dns_zone" "external" {
  for_each = virtcluster_dns_view.external

  service_node = each.value.service_node
  view         = each.value.name
  name         = var.domain
  ttl          = 60
  name_servers = [for name in keys(var.services) : "${name}.${var.domain}."]

  records = merge(
    { for name, node in var.services : name => { A = [node.external_ip] } },
    {
      api      = { A = [var.vips.outside] }
      "*.apps" = { A = [var.vips.outside] }
    },
  )

  depends_on = [virtcluster_vip.outside]
}
