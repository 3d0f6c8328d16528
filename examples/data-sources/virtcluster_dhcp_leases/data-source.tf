data "virtcluster_dhcp_leases" "default" {
  network = "default"
}

output "addresses" {
  value = { for lease in data.virtcluster_dhcp_leases.default.leases : lease.mac => lease.ip }
}
