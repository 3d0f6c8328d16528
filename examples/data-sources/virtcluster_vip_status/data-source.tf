variable "vip" {
  description = "id of a virtcluster_vip."
  type        = string
}

data "virtcluster_vip_status" "api" {
  vip = var.vip
}

output "states" {
  value = { for m in data.virtcluster_vip_status.api.members : m.service_node => m.reachable ? m.state : m.error }
}
