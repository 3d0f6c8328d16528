resource "virtcluster_service_node" "first" {
  endpoint = "ssh://root@10.0.0.101"
  services = ["haproxy"]
}

# The second interface of a machine that runs: on the LAN, with the way to the pods, now and after a reboot.
resource "virtcluster_interface" "lan" {
  host        = virtcluster_service_node.first.id
  name        = "eth1"
  addresses   = ["10.19.41.101/24", "2001:db8:41::101/64"]
  gateways    = ["10.19.41.254", "2001:db8:41::1"]
  metric      = 200
  routes      = [{ cidr = "10.128.0.0/14", via = "10.19.41.253" }]
  nameservers = ["10.0.0.100"]
  search      = ["okd.example"]
  mtu         = 1450
}

# One that asks for its address, of a machine whose host key is written down.
resource "virtcluster_interface" "dhcp" {
  host       = "ssh://root@10.0.0.102?host_key=nThbg6kXUpJWGl7E1IGOCspRomTxdCARLviKw6E5SY8"
  name       = "eth1"
  addressing = "dhcp"
}
