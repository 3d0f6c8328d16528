list "virtcluster_route" "all" {
  provider         = virtcluster
  include_resource = true

  config {
    service_nodes = ["ssh://root@10.0.0.100"]
  }
}
