# Three masters, two workers and a pair of service nodes on two hypervisors and one network, which OVN has over both. The API is at a virtual
# address of the service nodes, which the LAN reaches by an address of its own; ingress is a load balancer of OVN's.
# `make demo-hypervisors` runs it.
provider "virtcluster" {
  ssh         = { private_key_file = var.key }
  hypervisors = { for name, h in var.hypervisors : name => { uri = "qemu+ssh://root@${h.address}/system", lost = h.lost } }
}

locals {
  living  = { for name, h in var.hypervisors : name => h if !h.lost }
  central = "ssh://root@${var.hypervisors[coalesce(var.central, keys(var.hypervisors)[0])].address}"
  # Who leads out, in this order: the first one that lives does.
  outward  = concat(keys(var.gateways), keys(local.living))
  machines = merge(var.machines, { for name, s in var.service_nodes : name => { role = "service", hypervisor = s.hypervisor, ip = s.ip } })
  images   = merge([for on in keys(local.living) : { for kind, source in var.images : "${on}/${kind}" => { on = on, source = source } }]...)
}

resource "virtcluster_ovn" "lab" {
  central      = [local.central]
  datapath     = var.datapath
  underlay_mtu = var.underlay_mtu

  chassis = merge(
    { for name, h in local.living : name => { endpoint = "ssh://root@${h.address}", tunnel_ip = h.tunnel_ip, hypervisor = name, bridge_mappings = { lan = "br-ex" } } },
    { for name, g in var.gateways : name => { endpoint = "ssh://root@${g.address}", tunnel_ip = g.tunnel_ip, hypervisor = null, bridge_mappings = { lan = "br-ex" } } },
  )
}

resource "virtcluster_ovn_network" "nodes" {
  ovn     = virtcluster_ovn.lab.id
  name    = "nodes"
  cidr    = var.network.cidr
  gateway = var.network.gateway
  dhcp    = {}
}

resource "virtcluster_ovn_router" "lab" {
  ovn      = virtcluster_ovn.lab.id
  name     = "lab"
  networks = [virtcluster_ovn_network.nodes.name]
  snat     = true
  failover = var.failover

  external = {
    bridge_mapping = "lan"
    address        = var.lan.router
    gateway        = var.lan.gateway
    chassis        = [for name in local.outward : virtcluster_ovn.lab.chassis[name].id]
  }

  floating = merge(
    { (var.lan.api) = { inside = var.vip.address } },
    { for name, s in var.service_nodes : s.outside => { inside = s.ip } },
  )
}

# Machines answer at the ports that they serve at, and by ping; they ask whom they like.
resource "virtcluster_ovn_security_group" "cluster" {
  ovn  = virtcluster_ovn.lab.id
  name = "cluster"

  rules = [
    { direction = "ingress", protocol = "icmp" },
    { direction = "ingress", protocol = "tcp", ports = "80" },
    { direction = "ingress", protocol = "tcp", ports = "6443" },
    { direction = "ingress", protocol = "any", remote = "cluster" },
    { direction = "egress", protocol = "any" },
  ]
}

# Every hypervisor has a pool and the images, also one whose last machine is leaving: what that was made of goes after it.
resource "virtcluster_storage_pool" "machines" {
  for_each   = local.living
  hypervisor = each.key
  name       = "cluster"
  path       = "/var/lib/libvirt/cluster"
}

resource "virtcluster_image" "machines" {
  for_each   = local.images
  hypervisor = each.value.on
  name       = "${basename(each.key)}.qcow2"
  pool       = virtcluster_storage_pool.machines[each.value.on].name
  source     = each.value.source
}

resource "virtcluster_node" "cluster" {
  for_each   = var.machines
  name       = each.key
  hypervisor = each.value.hypervisor
  role       = each.value.role
  type       = var.node.type
  memory_mib = var.node.memory_mib
  vcpus      = var.node.vcpus
  root_disk  = { image = virtcluster_image.machines["${each.value.hypervisor}/cluster"].id }

  network_interfaces = [{
    ovn_network     = virtcluster_ovn_network.nodes.id
    ip              = each.value.ip
    port_security   = true
    security_groups = [virtcluster_ovn_security_group.cluster.name]
  }]
}

# A service node may send from the virtual address, which it has while it holds it.
resource "virtcluster_node" "service" {
  for_each   = var.service_nodes
  name       = each.key
  hypervisor = each.value.hypervisor
  role       = "service"
  type       = var.node.type
  memory_mib = var.node.service_memory_mib
  vcpus      = var.node.vcpus
  root_disk  = { image = virtcluster_image.machines["${each.value.hypervisor}/service"].id }

  network_interfaces = [{
    ovn_network       = virtcluster_ovn_network.nodes.id
    ip                = each.value.ip
    port_security     = true
    allowed_addresses = [var.vip.address]
  }]

  cloud_init = {
    user_data = join("\n", ["#cloud-config", yamlencode({
      disable_root = false
      users        = [{ name = "root", ssh_authorized_keys = [trimspace(file("${var.key}.pub"))] }]
      ssh_keys     = { ed25519_private = sensitive(file(each.value.host_key_file)), ed25519_public = file("${each.value.host_key_file}.pub") }
    })])
  }
}

# They are reached by their addresses of the LAN, which the router leads to them.
resource "virtcluster_service_node" "each" {
  for_each = var.service_nodes
  endpoint = "ssh://root@${each.value.outside}"
  host_key = trimspace(file("${each.value.host_key_file}.pub"))
  services = ["haproxy", "keepalived"]

  depends_on = [virtcluster_node.service, virtcluster_ovn_router.lab]
}

resource "virtcluster_haproxy" "each" {
  for_each     = virtcluster_service_node.each
  service_node = each.value.id
  mode         = "tcp"
}

resource "virtcluster_haproxy_backend" "api" {
  for_each       = virtcluster_haproxy.each
  service_node   = each.value.service_node
  name           = "api"
  mode           = "tcp"
  balance        = "roundrobin"
  default_server = { inter = "1s", fall = 2, rise = 2 }
  servers        = { for name, m in var.machines : name => { address = m.ip, port = 6443, check = true } if m.role == "master" }
}

resource "virtcluster_haproxy_frontend" "api" {
  for_each        = virtcluster_haproxy.each
  service_node    = each.value.service_node
  name            = "api"
  mode            = "tcp"
  binds           = [{ address = var.vip.address, port = 6443 }]
  default_backend = virtcluster_haproxy_backend.api[each.key].name
}

resource "virtcluster_vip" "api" {
  name       = "cluster-api"
  addresses  = ["${var.vip.address}/${split("/", var.network.cidr)[1]}"]
  advert_int = var.vip.advert_int

  members = { for name, s in var.service_nodes : name => {
    service_node = virtcluster_haproxy_frontend.api[name].service_node
    interface    = "eth0"
    address      = s.ip
    priority     = s.priority
  } }

  track = [{ name = "haproxy", process = "haproxy" }]
}

# It asks by the guests' ports, which are there with the machines.
resource "virtcluster_ovn_load_balancer" "ingress" {
  ovn          = virtcluster_ovn.lab.id
  name         = "ingress"
  router       = virtcluster_ovn_router.lab.name
  vips         = { "${var.lan.ingress}:80" = [for name, m in var.machines : "${m.ip}:80" if m.role == "worker"] }
  health_check = { source = var.network.source, interval_seconds = 1, timeout_seconds = 1 }

  depends_on = [virtcluster_node.cluster]
}

output "machines" {
  description = "Where each machine is, and its address."
  value       = { for name, m in local.machines : name => { hypervisor = m.hypervisor, ip = m.ip } }
}

output "holder" {
  description = "Which service node holds the virtual address."
  value       = virtcluster_vip.api.owner
}
