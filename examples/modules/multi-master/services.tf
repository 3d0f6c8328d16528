resource "virtcluster_service_node" "service" {
  for_each = local.services

  endpoint = coalesce(each.value.endpoint, "ssh://root@${each.value.exists ? each.value.ip : split("/", virtcluster_node.service[each.key].network_interfaces[0].addresses[0])[0]}")
  host_key = each.value.host_key_file == null ? each.value.host_key : trimspace(file("${each.value.host_key_file}.pub"))
  services = concat(["bind", "haproxy", "keepalived"], var.service.services, [for s in slice(["nftables"], 0, contains([for e in values(var.exposed) : e.service_node], each.key) ? 1 : 0) : s])

  lifecycle {
    precondition {
      condition     = length(var.service_nodes) == 1 || var.vips.inside != null
      error_message = "Two service nodes need a virtual address that moves between them: write vips.inside."
    }
    precondition {
      condition     = var.external == null || each.value.external_ip != null
      error_message = "Service node ${each.key} has no address on the external LAN, where virtual addresses and names are served: write its external_ip."
    }
  }
}

# A server that does not answer within a second is passed over: until checks have found out, its clients wait that long and get another.
resource "virtcluster_haproxy" "service" {
  for_each = virtcluster_service_node.service

  service_node          = each.value.id
  mode                  = "tcp"
  maxconn               = var.haproxy.maxconn
  options               = var.haproxy.options
  log                   = var.haproxy.log
  retries               = var.haproxy.retries
  timeouts              = var.haproxy.timeouts
  stats                 = var.haproxy.stats
  extra_config          = var.haproxy.extra_config
  defaults_extra_config = var.haproxy.defaults_extra_config
}

locals {
  # Machine configuration (22623) is for machines, and offered inside only.
  balanced = merge({
    api            = { port = 6443, roles = ["master", "bootstrap"], outside = true, check = null }
    machine-config = { port = 22623, roles = ["master", "bootstrap"], outside = false, check = null }
    ingress-http   = { port = 80, roles = ["ingress"], outside = true, check = null }
    ingress-https  = { port = 443, roles = ["ingress"], outside = true, check = null }
  }, var.balanced)

  answers = merge(local.by_role, { ingress = local.ingress })

  on_each_service_node = merge([for node in keys(local.services) : {
    for name, b in local.balanced : "${node}/${name}" => {
      node      = node
      name      = "${var.name}-${name}"
      port      = b.port
      check     = b.check
      servers   = merge([for role in b.roles : local.answers[role]]...)
      addresses = compact([local.inside[node], b.outside ? lookup(local.outside, node, null) : null])
    }
  }]...)
}

# It is destroyed with the bootstrap, and before it: what the bootstrap was for waits until then. Where waiting is given up it stays, as it
# would be asked at its destroy otherwise. A service node asks, as whoever runs Terraform may not reach the machines.
resource "virtcluster_readiness" "masters" {
  for_each = var.masters_serve == null ? {} : length(local.by_role.bootstrap) > 0 || !var.masters_serve.wait ? local.by_role.master : {}

  url        = "https://${each.value}:${var.masters_serve.port}${var.masters_serve.path}"
  from       = values(virtcluster_service_node.service)[0].id
  insecure   = true
  when       = var.masters_serve.wait ? "destroy" : "never"
  timeout    = var.masters_serve.timeout
  depends_on = [virtcluster_node.machine]
}

resource "virtcluster_haproxy_backend" "balanced" {
  for_each = local.on_each_service_node

  service_node   = virtcluster_haproxy.service[each.value.node].service_node
  name           = each.value.name
  mode           = "tcp"
  balance        = "roundrobin"
  http_check     = each.value.check == null ? null : { uri = each.value.check, expect = "status 200" }
  default_server = { inter = "1s", fall = 2, rise = 2, check_ssl = each.value.check == null ? null : true, verify = each.value.check == null ? null : "none" }

  servers = { for name, ip in each.value.servers : name => {
    address = ip, port = each.value.port, check = true, backup = contains(keys(local.by_role.bootstrap), name), state = local.machines[name].state
  } }

  depends_on = [virtcluster_readiness.masters]
}

resource "virtcluster_haproxy_frontend" "balanced" {
  for_each = local.on_each_service_node

  service_node    = virtcluster_haproxy.service[each.value.node].service_node
  name            = each.value.name
  mode            = "tcp"
  binds           = [for address in each.value.addresses : { address = address, port = each.value.port }]
  default_backend = virtcluster_haproxy_backend.balanced[each.key].name
}

# Both addresses move together. They are there once somebody answers at them, and go before that.
resource "virtcluster_vip" "vip" {
  for_each = { for where, address in var.vips : where => address if address != null && (where == "inside" || var.external != null) }

  name       = "${var.name}-${each.key == "inside" ? "api" : "ingress"}"
  addresses  = ["${each.value}/${each.key == "inside" ? local.prefix[local.first] : split("/", var.external.cidr)[1]}"]
  sync_group = var.name

  virtual_router_id = var.vrrp[each.key].virtual_router_id
  version           = var.vrrp.version
  advert_int        = var.vrrp.advert_int
  preempt           = var.vrrp.preempt
  auth_pass         = var.vrrp_password

  members = { for name, s in local.services : name => {
    service_node = virtcluster_haproxy.service[name].service_node
    interface    = var.service.interfaces[each.key]
    address      = each.key == "inside" ? s.ip : s.external_ip
    priority     = s.priority
  } }

  # By a script, as the kernel tells keepalived nothing of processes where the machine is a container.
  track = [{ name = "haproxy", script = "/usr/bin/systemctl is-active --quiet haproxy", fall = 2, rise = 2 }]

  depends_on = [virtcluster_haproxy_frontend.balanced]
}

resource "virtcluster_exposed_service" "exposed" {
  for_each = var.exposed

  service_node      = virtcluster_service_node.service[each.value.service_node].id
  name              = "${var.name}-${each.key}"
  type              = each.value.type
  address           = each.value.address
  pool              = each.value.pool
  interface         = each.value.interface
  configure_address = each.value.configure_address
  masquerade        = each.value.masquerade
  ports             = each.value.ports
  targets           = each.value.targets
  source_ranges     = each.value.source_ranges
}
