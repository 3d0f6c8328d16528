list "virtcluster_interface" "all" {
  provider         = virtcluster
  include_resource = true

  config {
    host = "ssh://root@10.0.0.100"
  }
}
