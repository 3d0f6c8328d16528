list "virtcluster_ovn_router" "all" {
  provider         = virtcluster
  include_resource = true

  config {
    ovn = "ssh://root@10.0.0.11"
  }
}
