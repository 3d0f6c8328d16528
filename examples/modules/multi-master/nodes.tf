locals {
  # A pool and the images are on each hypervisor that has a network, for machines that are made. One that the last machine leaves keeps both until its
  # network goes: an image is removed before what has another one instead of it changes.
  on = toset(length(merge(local.made, local.hosted)) > 0 ? values(local.hypervisor) : [])
  images = {
    for key, i in merge([for on in local.on : {
      "${on}/cluster" = { on = on, source = var.node.image, checksum = var.node.checksum, for = local.made }
      "${on}/service" = { on = on, source = var.service.image, checksum = var.service.checksum, for = local.hosted }
    }]...) : key => i if i.source != null && length(i.for) > 0
  }
  pool = { for on in local.on : on => try(virtcluster_storage_pool.pool[on].name, var.pool.name) }
}

resource "virtcluster_storage_pool" "pool" {
  for_each = var.pool.path == null ? [] : local.on

  name       = var.pool.name
  hypervisor = each.key == "" ? null : each.key
  type       = "dir"
  path       = var.pool.path
}

resource "virtcluster_image" "image" {
  for_each = local.images

  name       = "${var.name}-${basename(each.key)}"
  hypervisor = each.value.on == "" ? null : each.value.on
  pool       = local.pool[each.value.on]
  source     = each.value.source
  checksum   = each.value.checksum
}

resource "virtcluster_node" "machine" {
  for_each = local.made

  name       = each.key
  hypervisor = var.networks[each.value.network].hypervisor
  role       = each.value.role
  labels     = merge(each.value.labels, { cluster = var.name })
  type       = var.node.type
  memory_mib = coalesce(each.value.memory_mib, var.node.memory_mib)
  vcpus      = coalesce(each.value.vcpus, var.node.vcpus)

  root_disk = {
    image    = try(virtcluster_image.image["${local.hypervisor[each.value.network]}/cluster"].id, var.node.image_id)
    size_gib = try(coalesce(each.value.disk_gib, var.node.disk_gib), null)
    pool     = local.pool[local.hypervisor[each.value.network]]
  }

  network_interfaces = [{
    network     = local.network[each.value.network]
    mac         = each.value.mac
    ip          = local.dhcp[each.value.network] ? each.value.ip : null
    addresses   = local.dhcp[each.value.network] ? null : ["${each.value.ip}/${local.prefix[each.value.network]}"]
    gateway     = local.dhcp[each.value.network] ? null : var.networks[each.value.network].gateway
    nameservers = local.dhcp[each.value.network] ? null : local.resolvers
  }]

  ignition         = each.value.ignition
  cloud_init       = each.value.user_data == null ? null : { user_data = each.value.user_data }
  shutdown_timeout = "60s"
  rollout          = local.turns ? { group = "${var.name}-${each.value.role}" } : null
}

# A fixed address, not DHCP's: a service node cannot ask itself for the names it needs before it serves any.
resource "virtcluster_node" "service" {
  for_each = local.hosted

  name       = each.key
  hypervisor = var.networks[each.value.network].hypervisor
  role       = "service"
  labels     = { cluster = var.name }
  type       = var.node.type
  memory_mib = var.service.memory_mib
  vcpus      = var.service.vcpus

  root_disk = {
    image = try(virtcluster_image.image["${local.hypervisor[each.value.network]}/service"].id, var.service.image_id)
    pool  = local.pool[local.hypervisor[each.value.network]]
  }

  network_interfaces = concat(
    [{
      network     = local.network[each.value.network]
      bridge      = null
      name        = var.service.interfaces.inside
      mac         = each.value.mac
      addresses   = ["${each.value.ip}/${local.prefix[each.value.network]}"]
      gateway     = try(var.external.gateway, null) == null && var.networks[each.value.network].mode != "isolated" ? local.gateway[each.value.network] : null
      nameservers = length(var.forwarders) > 0 ? var.forwarders : compact([local.gateway[each.value.network]])
    }],
    [for ip in compact([each.value.external_ip]) : {
      network     = null
      bridge      = local.bridge
      name        = var.service.interfaces.outside
      mac         = null
      addresses   = ["${ip}/${split("/", var.external.cidr)[1]}"]
      gateway     = var.external.gateway
      nameservers = null
    }],
  )

  # The machine gets the SSH host key that it is known by, where there is one for it.
  cloud_init = {
    user_data = join("\n", ["#cloud-config", yamlencode(merge(
      { disable_root = false, users = [{ name = "root", ssh_authorized_keys = compact([var.service.public_key]) }] },
      { for file in compact([each.value.host_key_file]) : "ssh_keys" => { ed25519_private = sensitive(file(file)), ed25519_public = file("${file}.pub") } },
    ))])
  }

  shutdown_timeout = "60s"

  # One that is made anew serves what the one before it did before the other's turn comes.
  rollout = local.turns ? {
    group = "${var.name}-service"
    service_node = {
      endpoint = coalesce(each.value.endpoint, "ssh://root@${each.value.ip}")
      host_key = each.value.host_key_file == null ? each.value.host_key : trimspace(file("${each.value.host_key_file}.pub"))
    }
  } : null

  lifecycle {
    precondition {
      condition     = length(var.forwarders) > 0 || local.gateway[each.value.network] != null
      error_message = "Service node ${each.key} has nobody to ask for names: write the gateway of network ${each.value.network}, or forwarders."
    }
    precondition {
      condition     = alltrue([for b in virtcluster_external_bridge.external : (b.hypervisor == null ? "" : b.hypervisor) == local.hypervisor[each.value.network]])
      error_message = "Service node ${each.key} is not on the hypervisor that external.interfaces become a bridge of: write the bridge (virtcluster_external_bridge) on the hypervisor of each, and leave external.interfaces out."
    }
  }
}
