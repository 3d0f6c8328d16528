resource "virtcluster_service_node" "lb" {
  endpoint = "ssh://root@10.0.0.2"
  services = ["haproxy"]
}

# terraform apply -invoke=action.virtcluster_undrain.master
action "virtcluster_undrain" "master" {
  config {
    service_nodes = [virtcluster_service_node.lb.id]
    addresses     = ["10.0.0.11", "fd00::11"]
  }
}
