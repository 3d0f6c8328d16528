resource "virtcluster_ovn" "lab" {
  central = ["ssh://root@10.0.0.11"]

  chassis = {
    kvm1 = { endpoint = "ssh://root@10.0.0.11", tunnel_ip = "172.16.0.11" }
    kvm2 = { endpoint = "ssh://root@10.0.0.12", tunnel_ip = "172.16.0.12" }
  }
}

resource "virtcluster_ovn_network" "nodes" {
  ovn     = virtcluster_ovn.lab.id
  name    = "nodes"
  cidr    = "10.50.0.0/24"
  gateway = "10.50.0.1"
}

resource "virtcluster_ovn_router" "lab" {
  ovn      = virtcluster_ovn.lab.id
  name     = "lab"
  networks = [virtcluster_ovn_network.nodes.name]
}

# The API of three masters at one address of their network.
resource "virtcluster_ovn_load_balancer" "api" {
  ovn    = virtcluster_ovn.lab.id
  name   = "api"
  router = virtcluster_ovn_router.lab.name
  vips   = { "10.50.0.100:6443" = ["10.50.0.11:6443", "10.50.0.12:6443", "10.50.0.13:6443"] }

  # Who does not answer is led to no more; nobody else has the address that asks.
  health_check = { source = "10.50.0.250" }
}
