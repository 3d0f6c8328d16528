list "virtcluster_hosts_file" "all" {
  provider         = virtcluster
  include_resource = true

  config {
    host = "ssh://root@10.0.0.100"
  }
}
