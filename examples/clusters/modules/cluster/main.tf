# One cluster: its nodes, and its names, balanced services and virtual addresses on service machines that it may share with others.
# All that it makes there carries the cluster's name.
terraform {
  required_providers {
    virtcluster = { source = "virtcluster/virtcluster" }
  }
}

locals {
  domain = "${var.name}.${var.base_domain}"
  nodes  = merge(var.masters, var.workers)
  # Machine configuration (22623) is for nodes, and offered inside only.
  services = {
    api            = { port = 6443, servers = var.masters, addresses = [var.vips.inside, var.vips.outside] }
    machine-config = { port = 22623, servers = var.masters, addresses = [var.vips.inside] }
    ingress-http   = { port = 80, servers = var.workers, addresses = [var.vips.inside, var.vips.outside] }
    ingress-https  = { port = 443, servers = var.workers, addresses = [var.vips.inside, var.vips.outside] }
  }
  on_each_machine = merge([for machine in keys(var.machines) : {
    for name, service in local.services : "${machine}/${name}" => merge(service, { machine = machine, name = "${var.name}-${name}" })
  }]...)
}

resource "virtcluster_node" "node" {
  for_each = local.nodes

  name       = "${var.name}-${each.key}" # a new name is a new node
  role       = contains(keys(var.masters), each.key) ? "master" : "worker"
  labels     = { cluster = var.name }
  type       = var.node.type
  memory_mib = var.node.memory_mib
  vcpus      = var.node.vcpus

  root_disk          = { image = var.node.image, pool = var.node.pool }
  network_interfaces = [{ network = var.network, ip = each.value }]
  shutdown_timeout   = "20s"
}

resource "virtcluster_haproxy_backend" "balanced" {
  for_each = local.on_each_machine

  service_node   = var.machines[each.value.machine].service_node
  name           = each.value.name
  mode           = "tcp"
  balance        = "roundrobin"
  default_server = { inter = "1s", fall = 2, rise = 2 }
  servers        = { for name, ip in each.value.servers : name => { address = ip, port = each.value.port, check = true } }
}

resource "virtcluster_haproxy_frontend" "balanced" {
  for_each = local.on_each_machine

  service_node    = var.machines[each.value.machine].service_node
  name            = each.value.name
  mode            = "tcp"
  binds           = [for address in each.value.addresses : { address = address, port = each.value.port }]
  default_backend = virtcluster_haproxy_backend.balanced[each.key].name
}

# Both addresses move together. They are there once somebody answers at them, and go before that.
resource "virtcluster_vip" "inside" {
  name       = "${var.name}-api"
  addresses  = ["${var.vips.inside}/24"]
  sync_group = var.name

  members = { for name, machine in var.machines : name => {
    service_node = machine.service_node
    interface    = var.interfaces.inside
    address      = machine.address
    priority     = machine.priority
  } }

  depends_on = [virtcluster_haproxy_frontend.balanced]
}

resource "virtcluster_vip" "outside" {
  name       = "${var.name}-ingress"
  addresses  = ["${var.vips.outside}/24"]
  sync_group = var.name

  members = { for name, machine in var.machines : name => {
    service_node = machine.service_node
    interface    = var.interfaces.outside
    address      = machine.outside
    priority     = machine.priority
  } }

  depends_on = [virtcluster_haproxy_frontend.balanced]
}

# The names lead to the virtual addresses, so they are there once those are.
resource "virtcluster_dns_zone" "internal" {
  for_each = var.machines

  service_node = each.value.service_node
  view         = each.value.views.internal
  name         = local.domain
  ttl          = 60

  records = merge(
    { for name, ip in local.nodes : name => { A = [ip] } },
    { for name in ["api", "api-int", "*.apps"] : name => { A = [var.vips.inside] } },
  )

  depends_on = [virtcluster_vip.inside]
}

resource "virtcluster_dns_zone" "reverse" {
  for_each = var.machines

  service_node = each.value.service_node
  view         = each.value.views.internal
  cidr         = var.cidr
  ttl          = 60
  pointers     = { for name, ip in local.nodes : ip => "${name}.${local.domain}." }
}

resource "virtcluster_dns_zone" "external" {
  for_each = var.machines

  service_node = each.value.service_node
  view         = each.value.views.external
  name         = local.domain
  ttl          = 60
  records      = { for name in ["api", "*.apps"] : name => { A = [var.vips.outside] } }

  depends_on = [virtcluster_vip.outside]
}
