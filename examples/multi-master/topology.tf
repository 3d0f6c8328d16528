# The cluster as a picture and as a page. `make demo` writes both to dist/; by hand:
# echo 'jsonencode(data.virtcluster_topology.cluster.html)' | terraform console | jq -r fromjson >okd.html
data "virtcluster_topology" "cluster" {
  title = var.domain

  networks = {
    external  = { gateway = var.external.gateway, mode = "bridge ${virtcluster_external_bridge.external.name}", outside = true }
    kimgtnet0 = { cidr = virtcluster_network.management.cidr, gateway = virtcluster_network.management.gateway, mode = virtcluster_network.management.mode }
  }

  machines = merge(
    { for name, node in local.cluster : name => { role = local.roles[name], addresses = { kimgtnet0 = node.ip } } },
    { for name, node in var.services : name => { role = "service", addresses = { kimgtnet0 = node.ip, external = node.external_ip } } },
  )

  vips = {
    okd-api     = { network = "kimgtnet0", address = var.vips.inside, members = keys(var.services) }
    okd-ingress = { network = "external", address = var.vips.outside, members = keys(var.services) }
  }

  frontends = { for name, b in local.balanced : name => {
    machines = keys(var.services)
    binds    = [for address in b.addresses : "${address}:${b.port}"]
    servers  = keys(b.servers)
  } }

  views = {
    external = { network = "external", machines = keys(var.services), clients = ["who asks an address outside"], zones = [var.domain] }
    internal = { network = "kimgtnet0", machines = keys(var.services), clients = ["10.0.0.0/8"], zones = [var.domain] }
  }
}
