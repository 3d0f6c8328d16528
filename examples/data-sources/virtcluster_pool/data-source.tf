data "virtcluster_pool" "default" {
  name = "default"
}

output "room" {
  value = data.virtcluster_pool.default.available_bytes
}
