# The cluster as a picture, with the machines of each chassis in rows of their own: terraform output -raw picture >cluster.svg
data "virtcluster_topology" "cluster" {
  title = "two hypervisors"

  networks = {
    lan   = { gateway = virtcluster_ovn_router.lab.external.gateway, mode = "bridge of ${join(", ", local.outward)}", outside = true }
    nodes = { cidr = virtcluster_ovn_network.nodes.cidr, gateway = virtcluster_ovn_network.nodes.gateway, mode = "OVN over ${join(", ", keys(local.living))}" }
  }

  machines = {
    for name, m in local.machines : name => { role = m.role, hypervisor = m.hypervisor, addresses = { nodes = m.ip } }
  }

  vips      = { api = { network = "nodes", address = var.vip.address, members = keys(var.service_nodes), owner = virtcluster_vip.api.owner } }
  frontends = { api = { machines = keys(var.service_nodes), binds = ["${var.vip.address}:6443"], servers = [for name, m in var.machines : name if m.role == "master"] } }
}

output "picture" {
  description = "The cluster as SVG."
  value       = data.virtcluster_topology.cluster.svg
}
