resource "virtcluster_ovn" "lab" {
  central = ["ssh://root@10.0.0.11"]

  chassis = {
    kvm1 = { endpoint = "ssh://root@10.0.0.11", tunnel_ip = "172.16.0.11", bridge_mappings = { lan = "br-ex" } }
    kvm2 = { endpoint = "ssh://root@10.0.0.12", tunnel_ip = "172.16.0.12", bridge_mappings = { lan = "br-ex" } }
    kvm3 = { endpoint = "ssh://root@10.0.0.13", tunnel_ip = "172.16.0.13", bridge_mappings = { lan = "br-ex" } }
  }
}

resource "virtcluster_ovn_network" "nodes" {
  ovn     = virtcluster_ovn.lab.id
  name    = "nodes"
  cidr    = "10.50.0.0/24"
  gateway = "10.50.0.1"
}

# Guests reach the LAN by the router's address, and one of them has an address there.
resource "virtcluster_ovn_router" "lab" {
  ovn      = virtcluster_ovn.lab.id
  name     = "lab"
  networks = [virtcluster_ovn_network.nodes.name]
  snat     = true
  floating = { "10.19.41.201" = { inside = "10.50.0.12" } }

  external = {
    bridge_mapping = "lan"
    address        = "10.19.41.200/24"
    gateway        = "10.19.41.254"
    chassis        = [for name in ["kvm1", "kvm2", "kvm3"] : virtcluster_ovn.lab.chassis[name].id]
  }
}
