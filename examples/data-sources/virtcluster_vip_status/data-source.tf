variable "vip" {
  description = "What an import takes for the VIP: MEMBER=SERVICE_NODE,MEMBER=SERVICE_NODE#NAME. In a configuration that has it, write virtcluster_vip.NAME.id instead."
  type        = string
}

data "virtcluster_vip_status" "api" {
  vip = var.vip
}

output "states" {
  value = { for m in data.virtcluster_vip_status.api.members : m.name => m.reachable ? m.state : m.error }
}
