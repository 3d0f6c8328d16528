list "virtcluster_ovn_load_balancer" "all" {
  provider         = virtcluster
  include_resource = true

  config {
    ovn = "ssh://root@10.0.0.11"
  }
}
