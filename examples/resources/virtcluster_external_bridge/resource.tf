# Guests on kiextbr0 are on the external LAN; the host keeps its address, now on the bridge, over reboots.
resource "virtcluster_external_bridge" "external" {
  name       = "kiextbr0"
  interfaces = [{ interface = "eno1" }]
}

# A VLAN of an interface that keeps its own address, for guests only.
resource "virtcluster_external_bridge" "storage" {
  name       = "brstorage"
  interfaces = [{ interface = "eno2", vlan = 40 }]
  addressing = "none"
}

# Two interfaces that act as one, and an address by DHCP.
resource "virtcluster_external_bridge" "bonded" {
  name       = "brbond"
  interfaces = [{ interface = "bond0", bond = { interfaces = ["eno3", "eno4"], mode = "802.3ad" } }]
  addressing = "dhcp"
}

# A bridge of another machine, which is made ready to serve: its id carries its host key.
resource "virtcluster_service_node" "edge" {
  endpoint = "ssh://root@10.0.0.101"
  services = ["nftables"]
}
resource "virtcluster_external_bridge" "edge" {
  host       = virtcluster_service_node.edge.id
  name       = "brlan"
  interfaces = [{ interface = "eth1" }]
}
