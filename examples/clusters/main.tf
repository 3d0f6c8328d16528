# Several clusters on one pair of service machines: what a machine has once is made by the module machines, and the module cluster
# is called for each cluster.
# CI runs it: TestAccTwoClustersOnOnePairOfMachines.
terraform {
  required_version = ">= 1.5"

  required_providers {
    virtcluster = { source = "virtcluster/virtcluster" }
  }
}

provider "virtcluster" {
  uri = var.uri
  ssh = { private_key_file = var.ssh_private_key_file }
}

module "machines" {
  source = "./modules/machines"

  machines = var.machines
  inside   = ["10.0.0.0/8"]
  outside  = var.outside
}

resource "virtcluster_storage_pool" "clusters" {
  name = "clusters"
  type = "dir"
  path = "/var/lib/libvirt/clusters"
}

resource "virtcluster_image" "node" {
  name   = "node.qcow2"
  pool   = virtcluster_storage_pool.clusters.name
  source = var.node_image
}

# Each cluster has a network of its own, that the hypervisor routes.
resource "virtcluster_network" "cluster" {
  for_each = var.clusters

  name = each.key
  mode = "open"
  cidr = each.value.cidr
  dhcp = { options = { dns-server = join(",", [for machine in values(var.machines) : machine.address]) } }
}

# The service machines reach the clusters' nodes through the hypervisor, also after a reboot: what manages the interface there keeps
# the route.
resource "virtcluster_route" "cluster" {
  for_each = merge([for machine, m in var.machines : {
    for name, cluster in var.clusters : "${machine}/${name}" => { machine = machine, cluster = name }
  }]...)

  host    = module.machines.machines[each.value.machine].service_node
  cidr    = virtcluster_network.cluster[each.value.cluster].cidr
  via     = var.hypervisor
  backend = "auto"

  lifecycle {
    postcondition {
      condition     = self.active_backend != "runtime"
      error_message = "Nothing manages ${self.device} of ${each.value.machine}, so the route would be gone after a reboot: have a network manager configure the interface first."
    }
  }
}

module "cluster" {
  source   = "./modules/cluster"
  for_each = var.clusters

  name        = each.key
  base_domain = var.base_domain
  machines    = module.machines.machines
  network     = virtcluster_network.cluster[each.key].name
  cidr        = virtcluster_network.cluster[each.key].cidr
  vips        = each.value.vips
  masters     = each.value.masters
  workers     = each.value.workers
  node        = { image = virtcluster_image.node.id, pool = virtcluster_storage_pool.clusters.name, type = var.node_type }
}

output "clusters" {
  description = "Where each cluster's API answers, and who holds its addresses."
  value       = { for name, cluster in module.cluster : name => { api = cluster.api, vip_owner = cluster.vip_owner } }
}

output "nodes" {
  description = "Each cluster's nodes."
  value       = { for name, cluster in module.cluster : name => cluster.nodes }
}
