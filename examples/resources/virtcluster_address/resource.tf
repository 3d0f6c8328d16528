resource "virtcluster_address_pool" "external" {
  service_node = "ssh://root@10.0.0.100"
  name         = "external"
  ranges       = ["192.0.2.110-192.0.2.119"]
}

resource "virtcluster_address" "api" {
  pool = virtcluster_address_pool.external.id
  key  = "okd/api"
}

resource "virtcluster_address" "ingress" {
  pool = virtcluster_address_pool.external.id
  key  = "okd/ingress"
  ip   = "192.0.2.119"
}

output "api" {
  value = virtcluster_address.api.ip
}
