resource "virtcluster_ovn" "lab" {
  central = ["ssh://root@10.0.0.11"]

  chassis = {
    kvm1 = { endpoint = "ssh://root@10.0.0.11", tunnel_ip = "172.16.0.11" }
    kvm2 = { endpoint = "ssh://root@10.0.0.12", tunnel_ip = "172.16.0.12" }
  }
}

# The web servers answer everybody by HTTPS, and administrators by SSH; they ask whom they like.
resource "virtcluster_ovn_security_group" "web" {
  ovn  = virtcluster_ovn.lab.id
  name = "web"

  rules = [
    { direction = "ingress", protocol = "tcp", ports = "443" },
    { direction = "ingress", protocol = "tcp", ports = "22", remote = "admins" },
    { direction = "ingress", protocol = "any", remote = "web" },
    { direction = "egress", protocol = "any" },
  ]

  address_sets = {
    admins = ["10.19.41.0/24", "192.0.2.7"]
  }
}
