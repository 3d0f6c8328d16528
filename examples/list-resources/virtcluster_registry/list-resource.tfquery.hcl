list "virtcluster_registry" "all" {
  provider         = virtcluster
  include_resource = true

  config {
    service_node = "ssh://root@10.0.0.100"
  }
}
