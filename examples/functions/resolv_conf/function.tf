terraform {
  required_providers {
    virtcluster = { source = "virtcluster/virtcluster" }
  }
}

output "resolv_conf" {
  value = provider::virtcluster::resolv_conf(["10.0.0.100", "10.0.0.101"], ["okd.example"])
}
