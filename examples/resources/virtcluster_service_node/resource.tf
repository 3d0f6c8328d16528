terraform {
  required_providers {
    virtcluster = { source = "virtcluster/virtcluster" }
  }
}

provider "virtcluster" {
  ssh = { private_key_file = "~/.ssh/id_ed25519" }
}

# A machine that is reached directly. On it, `ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub` prints the host key's
# fingerprint; with it, all that names the machine is known while planning.
resource "virtcluster_service_node" "first" {
  endpoint = "ssh://root@10.0.0.100"
  services = ["bind", "haproxy", "keepalived"]
  host_key = "SHA256:jTWVLhOg2XcZFQPrN3mHm1mV3kM9sTq0b5n3M1v0u0Q"
}

# A virtual machine of this configuration gets the host key that it is known by from cloud-init. Such a key is made by
# `ssh-keygen -q -t ed25519 -N '' -f host_key`.
variable "host_key" {
  type      = object({ private = string, public = string })
  sensitive = true
}

resource "virtcluster_node" "third" {
  name       = "okd-service-04"
  memory_mib = 1024
  root_disk  = { image = "/var/lib/libvirt/images/debian.qcow2" }
  network_interfaces = [
    { network = "kimgtnet0", addresses = ["10.0.0.103/24"], gateway = "10.0.0.254" },
  ]
  cloud_init = {
    user_data = join("\n", ["#cloud-config", jsonencode({
      ssh_keys = { ed25519_private = var.host_key.private, ed25519_public = var.host_key.public }
    })])
  }
}

resource "virtcluster_service_node" "third" {
  endpoint = "ssh://debian@10.0.0.103"
  services = ["bind"]
  host_key = nonsensitive(trimspace(var.host_key.public))

  depends_on = [virtcluster_node.third]
}

# A machine behind another one, with a login that may use sudo. Without `host_key`, the key that it shows first is pinned.
resource "virtcluster_service_node" "second" {
  endpoint = "ssh://admin@10.0.0.101?proxy_jump=root@kvm1.example.org"
  services = ["bind", "haproxy", "keepalived"]
  # The administrator installs the packages; what is missing is an error.
  install_packages = false
}

# A virtual machine to which no network leads from here: its guest agent does.
resource "virtcluster_service_node" "isolated" {
  endpoint = "qemu-ga:///okd-service-03"
  services = ["nfs"]

  timeouts = { create = "20m" }
}
