resource "virtcluster_service_node" "lb" {
  for_each = toset(["10.0.0.2", "10.0.0.3"])
  endpoint = "ssh://root@${each.key}"
  services = ["haproxy", "keepalived"]
}

# Before somebody works on a master: terraform apply -invoke=action.virtcluster_drain.master
action "virtcluster_drain" "master" {
  config {
    service_nodes = [for node in virtcluster_service_node.lb : node.id]
    addresses     = ["10.0.0.11"]
    timeout       = "5m"
  }
}

# Afterwards: terraform apply -invoke=action.virtcluster_undrain.master
action "virtcluster_undrain" "master" {
  config {
    service_nodes = [for node in virtcluster_service_node.lb : node.id]
    addresses     = ["10.0.0.11"]
  }
}
