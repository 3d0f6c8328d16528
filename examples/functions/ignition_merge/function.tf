terraform {
  required_providers {
    virtcluster = { source = "virtcluster/virtcluster" }
  }
}

locals {
  base = jsonencode({
    ignition = { version = "3.4.0" }
    passwd   = { users = [{ name = "core", sshAuthorizedKeys = ["ssh-ed25519 AAAA… admin"] }] }
  })
  hostname = jsonencode({
    ignition = { version = "3.4.0" }
    storage  = { files = [{ path = "/etc/hostname", contents = { source = "data:,okd-master-01" } }] }
  })
}

output "ignition" {
  value = provider::virtcluster::ignition_merge(local.base, local.hostname)
}
