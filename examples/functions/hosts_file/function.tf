terraform {
  required_providers {
    virtcluster = { source = "virtcluster/virtcluster" }
  }
}

output "hosts" {
  value = provider::virtcluster::hosts_file({
    "10.0.0.1"   = ["okd-master-01.okd.example", "okd-master-01"]
    "10.0.0.250" = ["api.okd.example", "api-int.okd.example"]
  })
}
