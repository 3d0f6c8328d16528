resource "virtcluster_service_node" "lb" {
  endpoint = "ssh://root@10.0.0.100"
  services = ["haproxy"]
}

resource "virtcluster_address_pool" "external" {
  service_node    = virtcluster_service_node.lb.id
  name            = "external"
  ranges          = ["192.0.2.110-192.0.2.119", "192.0.2.128/28"]
  reserved        = ["192.0.2.113"]
  avoid_buggy_ips = true
}
