# The cluster as a picture, from what its resources say. The data source refers to these values and to no resource, as Terraform reads
# it while planning then, where they are known.
locals {
  drawn = {
    networks = merge(
      { for name, n in var.networks : name => { cidr = n.cidr, gateway = n.gateway, mode = n.mode, hypervisor = n.hypervisor, outside = false } },
      { for lan in [var.external] : "external" => { cidr = lan.cidr, gateway = lan.gateway, mode = null, hypervisor = lan.hypervisor, outside = true } if lan != null },
    )

    machines = merge(
      { for name, m in local.machines : name => {
        role       = m.role
        addresses  = { (m.network) = m.ip }
        hypervisor = var.networks[m.network].hypervisor
        state      = m.exists ? null : virtcluster_node.machine[name].state
      } },
      { for name, s in local.services : name => {
        role       = "service"
        addresses  = merge({ (s.network) = s.ip }, { for ip in compact([s.external_ip]) : "external" => ip })
        hypervisor = var.networks[s.network].hypervisor
        state      = s.exists ? null : virtcluster_node.service[name].state
      } },
    )

    vips = { for where, vip in virtcluster_vip.vip : vip.name => {
      network = where == "inside" ? local.first : "external"
      address = split("/", vip.addresses[0])[0]
      members = keys(local.services)
      owner   = vip.owner
    } }

    frontends = { for name, b in local.balanced : "${var.name}-${name}" => {
      machines = keys(local.services)
      binds    = distinct(flatten([for node in keys(local.services) : [for address in local.on_each_service_node["${node}/${name}"].addresses : "${address}:${b.port}"]]))
      servers  = keys(local.on_each_service_node["${keys(local.services)[0]}/${name}"].servers)
    } }

    views = merge(
      { internal = { network = local.first, machines = keys(local.services), clients = virtcluster_dns_view.internal[keys(local.services)[0]].match_clients, zones = local.domains } },
      { for view in slice(values(virtcluster_dns_view.external), 0, min(1, length(virtcluster_dns_view.external))) : "external" => { network = "external", machines = keys(local.services), clients = [for to in view.match_destinations : "who asks ${to}"], zones = local.domains } },
    )

    # A port of every address that a service node has is drawn at the outermost.
    exposures = { for name, e in virtcluster_exposed_service.exposed : name => {
      machine = var.exposed[name].service_node
      address = coalesce(e.address, local.services[var.exposed[name].service_node].external_ip, local.services[var.exposed[name].service_node].ip)
      ports   = [for port in values(e.ports) : tostring(port.port)]
      targets = e.targets
    } }
  }
}

data "virtcluster_topology" "cluster" {
  title     = local.domain
  networks  = local.drawn.networks
  machines  = local.drawn.machines
  vips      = local.drawn.vips
  frontends = local.drawn.frontends
  views     = local.drawn.views
  exposures = local.drawn.exposures
}

output "picture" {
  description = "The cluster as json, mermaid, svg and html."
  value       = { for form in ["json", "mermaid", "svg", "html"] : form => data.virtcluster_topology.cluster[form] }
}
