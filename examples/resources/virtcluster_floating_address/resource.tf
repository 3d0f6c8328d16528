resource "virtcluster_service_node" "edge" {
  endpoint = "ssh://root@10.0.0.100"
  services = ["nftables"]
}

# What comes to the address goes to the guest, and what the guest begins to say comes from the address.
resource "virtcluster_floating_address" "bastion" {
  service_node = virtcluster_service_node.edge.id
  address      = "10.19.41.200"
  target       = "10.0.0.10"
  interface    = "eth1"
  ports = {
    ssh = { port = 22 }
    dns = { port = 53, protocol = "udp" }
  }
}
