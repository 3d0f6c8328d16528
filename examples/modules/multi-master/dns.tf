locals {
  names = merge({ for name, m in local.machines : name => m.ip }, { for name, s in local.services : name => s.ip })
  # By number, as OpenShift asks for them, in the order of the masters' names: those behind a master that goes move up.
  etcd = { for i, name in sort(keys(local.by_role.master)) : "etcd-${i}" => local.by_role.master[name] }
  # The names inside lead to the virtual address, or to the service node's own.
  answer = { inside = distinct(values(local.inside)), outside = distinct(compact(values(local.outside))) }

  name_servers = { for domain in local.domains : domain => [for name in keys(local.services) : "${name}.${domain}."] }
  domains      = distinct(concat([local.domain], var.domains))
  in_views     = merge([for node in keys(local.services) : { for domain in local.domains : "${node}/${domain}" => { node = node, domain = domain } }]...)
}

resource "virtcluster_dns_server" "service" {
  for_each = virtcluster_service_node.service

  service_node      = each.value.id
  listen_on         = var.dns.listen_on
  allow_query       = var.dns.allow_query
  dnssec_validation = var.dns.dnssec_validation
  options           = var.dns.options
  forwarders        = length(var.forwarders) > 0 ? var.forwarders : null
}

# Who asks an external address learns the external address, and never api-int. This view goes first and looks at the address that
# was asked: who asks from outside may have an address of the inside's networks.
resource "virtcluster_dns_view" "external" {
  for_each = var.external == null ? {} : virtcluster_dns_server.service

  service_node       = each.value.service_node
  name               = "external"
  order              = 10
  match_destinations = compact([local.services[each.key].external_ip, var.vips.outside])
}

resource "virtcluster_dns_view" "internal" {
  for_each = virtcluster_dns_server.service

  service_node  = each.value.service_node
  name          = "internal"
  order         = 20
  match_clients = concat(coalesce(var.inside, distinct([for n in values(var.networks) : n.cidr])), ["localhost"])
  recursion     = true
}

resource "virtcluster_dns_zone" "internal" {
  for_each = local.in_views

  service_node = virtcluster_dns_view.internal[each.value.node].service_node
  view         = virtcluster_dns_view.internal[each.value.node].name
  name         = each.value.domain
  ttl          = 60
  name_servers = local.name_servers[each.value.domain]

  records = merge(
    { for name, ip in merge(local.names, local.etcd) : name => { A = [ip] } },
    { for name in ["api", "api-int", "*.apps"] : name => { A = local.answer.inside } },
    { "_etcd-server-ssl._tcp" = { SRV = [for name in keys(local.etcd) : "0 10 2380 ${name}.${each.value.domain}."] } },
    var.records,
  )

  # The names lead to the virtual addresses, so they are there once those are.
  depends_on = [virtcluster_vip.vip, virtcluster_readiness.masters]
}

resource "virtcluster_dns_zone" "reverse" {
  for_each = merge([for node in keys(local.services) : { for cidr in distinct([for n in values(var.networks) : n.cidr]) : "${node}/${cidr}" => { node = node, cidr = cidr } }]...)

  service_node = virtcluster_dns_view.internal[each.value.node].service_node
  view         = virtcluster_dns_view.internal[each.value.node].name
  cidr         = each.value.cidr
  ttl          = 60
  name_servers = local.name_servers[local.domain]
  pointers = { for name, m in merge(local.machines, local.services) : m.ip => "${name}.${local.domain}."
  if var.networks[m.network].cidr == each.value.cidr }
  # An address has one pointer; the virtual one is that of both names. Installers of OpenShift look for them.
  records = { for ip in compact([var.vips.inside]) : "${join(".", reverse(split(".", ip)))}.in-addr.arpa." => { PTR = ["api.${local.domain}.", "api-int.${local.domain}."] }
  if each.value.cidr == var.networks[local.first].cidr && local.prefix[local.first] <= 24 }

  depends_on = [virtcluster_readiness.masters]
}

resource "virtcluster_dns_zone" "external" {
  for_each = { for key, z in local.in_views : key => z if var.external != null }

  service_node = virtcluster_dns_view.external[each.value.node].service_node
  view         = virtcluster_dns_view.external[each.value.node].name
  name         = each.value.domain
  ttl          = 60
  name_servers = local.name_servers[each.value.domain]

  records = merge(
    { for name, s in local.services : name => { A = [s.external_ip] } if s.external_ip != null },
    { for name in ["api", "*.apps"] : name => { A = local.answer.outside } },
  )

  depends_on = [virtcluster_vip.vip]
}
