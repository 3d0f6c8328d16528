terraform {
  required_providers {
    virtcluster = { source = "virtcluster/virtcluster" }
  }
}

locals {
  masters = { for i in range(3) : "okd-master-0${i + 1}" => "10.0.0.${10 + i}" }
}

output "agent_config" {
  value = provider::virtcluster::agent_config({
    metadata     = { name = "okd" }
    rendezvousIP = "10.0.0.10"
    hosts = [for name, ip in local.masters : {
      hostname   = name
      role       = "master"
      interfaces = [{ name = "eth0", macAddress = provider::virtcluster::mac_address(name, 0) }]
    }]
  })
}
