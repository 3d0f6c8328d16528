# A machine with a controller, for Ironic: on a hypervisor whose machine has systemd.
variable "key" {
  type = string
}

variable "image" {
  type = string
}

variable "password" {
  type      = string
  sensitive = true
}

terraform {
  required_providers {
    virtcluster = { source = "virtcluster/virtcluster" }
  }
}

provider "virtcluster" {
  uri = "qemu+ssh://root@10.0.100.101/system"
  ssh = { private_key_file = var.key }
}

resource "virtcluster_storage_pool" "metal" {
  name = "metal"
  path = "/var/lib/libvirt/metal"
}

resource "virtcluster_image" "tiny" {
  name   = "tiny"
  pool   = virtcluster_storage_pool.metal.name
  source = var.image
}

resource "virtcluster_network" "metal" {
  name = "metal"
  mode = "isolated"
  cidr = "10.78.0.0/24"
}

resource "virtcluster_node" "metal" {
  name               = "metal"
  type               = "qemu"
  memory_mib         = 1024
  vcpus              = 2
  power              = "external"
  running            = false
  root_disk          = { image = virtcluster_image.tiny.id, size_gib = 8 }
  cdrom              = {}
  console            = { log_file = "/var/log/libvirt/metal.log" }
  network_interfaces = [{ network = virtcluster_network.metal.name, mac = "52:54:00:aa:6c:f1" }]
}

resource "virtcluster_bmc" "rack" {
  name                = "rack"
  address             = "10.0.100.101"
  user                = "admin"
  password_wo         = var.password
  password_wo_version = 1
  nodes               = { (virtcluster_node.metal.name) = { port = 8001, ipmi_port = 6231 } }
}
