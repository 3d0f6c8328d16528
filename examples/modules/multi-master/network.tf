# Machines ask the service nodes, which know the cluster's names; the network's own server does not.
resource "virtcluster_network" "network" {
  for_each = { for name, n in var.networks : name => n if n.create }

  name       = each.key
  hypervisor = each.value.hypervisor
  mode       = each.value.mode
  bridge     = each.value.bridge
  cidr       = local.dhcp[each.key] ? each.value.cidr : null
  gateway    = local.dhcp[each.key] ? each.value.gateway : null

  dhcp = local.dhcp[each.key] ? {
    ranges  = each.value.range == null ? [] : [each.value.range]
    options = { dns-server = join(",", local.resolvers) }
  } : null
}

# Takes the hypervisor's interface in and moves its addresses to the bridge; a rollback is armed meanwhile.
resource "virtcluster_external_bridge" "external" {
  count = try(length(var.external.interfaces), 0) > 0 ? 1 : 0

  name       = var.external.bridge
  hypervisor = var.external.hypervisor
  interfaces = [for name in var.external.interfaces : { interface = name }]
  addressing = "inherit"
}

locals {
  # By these names what is in a network refers to it, and comes after it.
  network = { for name, n in var.networks : name => n.create ? virtcluster_network.network[name].name : name }
  bridge  = try(virtcluster_external_bridge.external[0].name, var.external.bridge, null)

  # A network of libvirt's that is made says which gateway it has.
  gateway = { for name, n in var.networks : name => n.gateway == null && n.create && local.dhcp[name] ? virtcluster_network.network[name].gateway : n.gateway }
}

# Machines that exist already get their addresses from the same network as those that are made.
resource "virtcluster_dhcp_reservation" "machine" {
  for_each = { for name, m in local.machines : name => m if m.exists && local.dhcp[m.network] }

  network    = local.network[each.value.network]
  hypervisor = var.networks[each.value.network].hypervisor
  mac        = each.value.mac
  ip         = each.value.ip
  hostname   = each.key
}
