list "virtcluster_boot_profile" "all" {
  provider         = virtcluster
  include_resource = true

  config {
    service_nodes = ["ssh://root@10.0.0.100", "ssh://root@10.0.0.101"]
  }
}
