resource "virtcluster_vip" "api" {
  name      = "okd-api"
  addresses = ["10.0.0.5/24"]
  members = {
    svc-1 = { service_node = "ssh://root@10.0.0.2", interface = "eth0" }
    svc-2 = { service_node = "ssh://root@10.0.0.3", interface = "eth0" }
  }
}

# Away from the member that holds the addresses: terraform apply -invoke=action.virtcluster_move_vip.away
action "virtcluster_move_vip" "away" {
  config {
    name    = virtcluster_vip.api.name
    members = virtcluster_vip.api.members
  }
}

# To the member that is named: terraform apply -invoke=action.virtcluster_move_vip.back
action "virtcluster_move_vip" "back" {
  config {
    name    = virtcluster_vip.api.name
    members = virtcluster_vip.api.members
    to      = "svc-1"
  }
}
