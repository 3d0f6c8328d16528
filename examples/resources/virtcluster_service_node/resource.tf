terraform {
  required_providers {
    virtcluster = { source = "virtcluster/virtcluster" }
  }
}

provider "virtcluster" {
  ssh = { private_key_file = "~/.ssh/id_ed25519" }
}

# A machine that is reached directly. Its host key is pinned when it is created.
resource "virtcluster_service_node" "first" {
  endpoint = "ssh://root@10.0.0.100"
  services = ["bind", "haproxy", "keepalived"]
}

# A machine behind another one, with a login that may use sudo, and with its host key given.
resource "virtcluster_service_node" "second" {
  endpoint = "ssh://admin@10.0.0.101?proxy_jump=root@kvm1.example.org"
  services = ["bind", "haproxy", "keepalived"]
  host_key = "SHA256:uNiVztksCsDhcc0u9e8BrrQXVUpKZIDTMczCvj3tD2s"

  # The administrator installs the packages; what is missing is an error.
  install_packages = false
}

# A virtual machine to which no network leads from here: its guest agent does.
resource "virtcluster_service_node" "isolated" {
  endpoint = "qemu-ga:///okd-service-03"
  services = ["nfs"]

  timeouts = { create = "20m" }
}
