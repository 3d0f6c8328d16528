resource "virtcluster_service_node" "dns" {
  endpoint = "ssh://root@10.0.0.2"
  services = ["bind"]
}

# terraform apply -invoke=action.virtcluster_flush_zone.company
action "virtcluster_flush_zone" "company" {
  config {
    service_node = virtcluster_service_node.dns.id
    zone         = "corp.example"
  }
}

# Whenever the addresses of the company's servers are others.
resource "terraform_data" "company" {
  input = ["192.0.2.80", "192.0.2.81"]

  lifecycle {
    action_trigger {
      events  = [after_update]
      actions = [action.virtcluster_flush_zone.company]
    }
  }
}
