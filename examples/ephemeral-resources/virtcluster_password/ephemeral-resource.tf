variable "secret" {
  type      = string
  ephemeral = true
}

# The same for all members, in every state that has the secret: keepalived reads 8 characters.
ephemeral "virtcluster_password" "vrrp" {
  length  = 8
  secret  = var.secret
  purpose = "vrrp okd-api"
}

resource "virtcluster_vip" "api" {
  name                 = "okd-api"
  addresses            = ["10.0.0.250/24"]
  auth_pass_wo         = ephemeral.virtcluster_password.vrrp.result
  auth_pass_wo_version = 1

  members = {
    gw-1 = { service_node = "ssh://root@10.0.0.100", interface = "eth0", address = "10.0.0.100", priority = 200 }
    gw-2 = { service_node = "ssh://root@10.0.0.101", interface = "eth0", address = "10.0.0.101", priority = 100 }
  }
}
