locals {
  bootstrap = var.bootstrap ? { okd-bootstrap-01 = { mac = "52:54:00:6e:4d:a3", ip = "10.0.0.200" } } : {}

  roles = merge(
    { for name, node in var.masters : name => "master" },
    { for name, node in var.workers : name => "worker" },
    { for name, node in local.bootstrap : name => "bootstrap" },
  )
  cluster = merge(var.masters, var.workers, local.bootstrap)
}

resource "virtcluster_storage_pool" "cluster" {
  name = "okd"
  type = "dir"
  path = "/var/lib/libvirt/okd"
}

resource "virtcluster_image" "cluster" {
  name   = "cluster.qcow2"
  pool   = virtcluster_storage_pool.cluster.name
  source = var.cluster_image
}

resource "virtcluster_image" "service" {
  name   = "service.qcow2"
  pool   = virtcluster_storage_pool.cluster.name
  source = var.service_image
}

resource "virtcluster_node" "cluster" {
  for_each = local.cluster

  name       = each.key
  role       = local.roles[each.key]
  type       = var.node_type
  memory_mib = 192
  vcpus      = 1

  root_disk = {
    image = virtcluster_image.cluster.id
    pool  = virtcluster_storage_pool.cluster.name
  }

  network_interfaces = [{
    network = virtcluster_network.management.name
    mac     = each.value.mac
    ip      = each.value.ip
  }]

  shutdown_timeout = "20s"
}

resource "virtcluster_node" "service" {
  for_each = var.services

  name       = each.key
  role       = "service"
  type       = var.node_type
  memory_mib = 1024
  vcpus      = 1

  root_disk = {
    image = virtcluster_image.service.id
    pool  = virtcluster_storage_pool.cluster.name
  }

  # A fixed address, not DHCP's: a service node cannot ask itself for the names it needs before it serves any.
  network_interfaces = [
    {
      network     = virtcluster_network.management.name
      name        = "eth0"
      mac         = each.value.mac
      addresses   = ["${each.value.ip}/24"]
      nameservers = [virtcluster_network.management.gateway]
    },
    {
      bridge    = virtcluster_external_bridge.external.name
      name      = "eth1"
      addresses = ["${each.value.external_ip}/24"]
      gateway   = var.external.gateway
    },
  ]

  # The machine gets the SSH host key that it is known by, where there is one for it.
  cloud_init = {
    user_data = join("\n", ["#cloud-config", yamlencode(merge(
      {
        disable_root = false
        users        = [{ name = "root", ssh_authorized_keys = [trimspace(file("${var.ssh_private_key_file}.pub"))] }]
      },
      {
        for name, key in var.service_host_key_files : "ssh_keys" => {
          ed25519_private = sensitive(file(key))
          ed25519_public  = file("${key}.pub")
        } if name == each.key
      },
    ))])
  }

  shutdown_timeout = "60s"
}

resource "virtcluster_service_node" "service" {
  for_each = var.services

  endpoint = "ssh://root@${split("/", virtcluster_node.service[each.key].network_interfaces[0].addresses[0])[0]}"
  services = ["bind", "haproxy", "keepalived"]
  host_key = contains(keys(var.service_host_key_files), each.key) ? trimspace(file("${var.service_host_key_files[each.key]}.pub")) : null
}
