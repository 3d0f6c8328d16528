# The masters and the service nodes of the example as virtual machines that take turns, beside the module that finds them there. In the sandbox,
# a node with the hardware address of a machine is what that machine runs on, and one that is made anew is an empty one.
variable "hardware" {
  description = "What masters and service nodes have: user data by name, in files of a directory; the memory of a master; the program that says whether a master serves; and how long it may take to."
  type        = object({ user_data = string, memory_mib = number, serves = string, patience = string })
}

resource "virtcluster_storage_pool" "hardware" {
  name = "hardware"
  type = "dir"
  path = "/var/lib/libvirt/hardware"
}

resource "virtcluster_node" "master" {
  for_each = var.masters

  name               = each.key
  role               = "master"
  type               = "qemu"
  memory_mib         = var.hardware.memory_mib
  root_disk          = { size_gib = 1, pool = virtcluster_storage_pool.hardware.name }
  network_interfaces = [{ bridge = var.network.bridge, mac = each.value.mac, addresses = ["${each.value.ip}/24"] }]
  cloud_init         = { user_data = file("${var.hardware.user_data}/${each.key}") }
  guest_agent        = false
  allow_restart      = true
  shutdown_timeout   = "0s"

  rollout = {
    group  = "masters"
    drain  = { service_nodes = [for s in values(var.service_nodes) : "ssh://root@${s.ip}"] }
    before = { endpoint = "ssh://root@${each.value.ip}", command = ["systemctl", "stop", "kube-apiserver", "etcd"] }
    ready  = { endpoint = "local:", command = [var.hardware.serves, each.value.ip], timeout = var.hardware.patience }
  }
}

resource "virtcluster_node" "service" {
  for_each = var.service_nodes

  name               = each.key
  role               = "service"
  type               = "qemu"
  memory_mib         = 64
  root_disk          = { size_gib = 1, pool = virtcluster_storage_pool.hardware.name }
  network_interfaces = [{ bridge = var.network.bridge, mac = "02:00:0a:00:64:0${split(".", each.value.ip)[3] - 100}", addresses = ["${each.value.ip}/24"] }]
  cloud_init         = { user_data = file("${var.hardware.user_data}/${each.key}") }
  guest_agent        = false
  allow_restart      = true
  shutdown_timeout   = "0s"

  rollout = {
    group        = "service"
    service_node = { endpoint = "ssh://root@${each.value.ip}" }
    ready        = { tcp = "${each.value.ip}:53" }
  }
}
