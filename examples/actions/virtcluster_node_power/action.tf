resource "virtcluster_node" "worker" {
  name      = "okd-worker-01"
  power     = "external"
  root_disk = { size_gib = 40 }
}

# terraform apply -invoke=action.virtcluster_node_power.off
action "virtcluster_node_power" "off" {
  config {
    node             = virtcluster_node.worker.id
    action           = "off"
    shutdown_timeout = "5m"
  }
}

# A cold start whenever what the node boots from is another one.
action "virtcluster_node_power" "cycle" {
  config {
    node   = virtcluster_node.worker.id
    action = "cycle"
  }
}

resource "terraform_data" "release" {
  input = "4.18"

  lifecycle {
    action_trigger {
      events  = [after_update]
      actions = [action.virtcluster_node_power.cycle]
    }
  }
}
