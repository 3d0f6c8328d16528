locals {
  domain = "${var.name}.${var.base_domain}"
  first  = coalesce(var.network, sort(keys(var.networks))[0])

  # homes are the networks that are written, and network the one that stands in where the hypervisor of that is emptied.
  homes    = { for name, m in merge(var.machines, var.service_nodes) : name => coalesce(m.network, local.first) }
  machines = { for name, m in var.machines : name => merge(m, { network = m.exists ? local.homes[name] : local.stand_in[local.homes[name]] }) if m.role != "bootstrap" || var.bootstrap }
  # Without an external LAN, nobody is at an address there.
  services = { for name, s in var.service_nodes : name => merge(s, {
    network     = s.exists ? local.homes[name] : local.stand_in[local.homes[name]]
    external_ip = var.external == null ? null : s.external_ip
  }) }
  made   = { for name, m in local.machines : name => m if !m.exists }
  hosted = { for name, s in local.services : name => s if !s.exists }

  by_role = { for role in ["master", "worker", "bootstrap"] : role => { for name, m in local.machines : name => m.ip if m.role == role } }
  # Without workers, the masters run what ingress leads to.
  ingress = length(local.by_role.worker) > 0 ? local.by_role.worker : local.by_role.master

  # Who machines ask for names.
  resolvers = var.name_servers != null ? var.name_servers : [for s in values(local.services) : s.ip]

  # The hypervisor of each network; the provider's own is "".
  hypervisor = { for name, n in var.networks : name => n.hypervisor == null ? "" : n.hypervisor }
  # The network of each on a hypervisor that takes machines: itself, or the first by name in its subnet.
  takes    = { for name, on in local.hypervisor : name => try(var.hypervisors[on].schedulable, true) }
  stand_in = { for name, n in var.networks : name => local.takes[name] ? name : try(sort([for other, o in var.networks : other if local.takes[other] && o.mode == "bridge" && o.cidr == n.cidr])[0], name) }
  # Who takes turns at being taken down, where hypervisors are emptied.
  turns = length(var.hypervisors) > 0
  # Who is not given an address by DHCP is told it by cloud-init.
  dhcp   = { for name, n in var.networks : name => n.mode != "bridge" }
  prefix = { for name, n in var.networks : name => split("/", n.cidr)[1] }

  # The addresses that each service node answers at. Without a virtual address, those are its own.
  inside  = { for name, s in local.services : name => coalesce(var.vips.inside, s.ip) }
  outside = { for name, s in local.services : name => try(coalesce(var.vips.outside, s.external_ip), null) if var.external != null }
}
