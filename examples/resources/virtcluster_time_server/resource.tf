resource "virtcluster_service_node" "first" {
  endpoint = "ssh://root@10.0.0.100"
  services = ["chrony"]
}

# The cluster's nodes keep one time, with the uplink cut too.
resource "virtcluster_time_server" "first" {
  service_node = virtcluster_service_node.first.id
  clients      = ["10.0.0.0/24"]
  upstreams    = ["ntp.example.com"]
}
