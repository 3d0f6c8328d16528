resource "virtcluster_ovn" "lab" {
  central = ["ssh://root@10.0.0.11"]

  chassis = {
    kvm1 = { endpoint = "ssh://root@10.0.0.11", tunnel_ip = "172.16.0.11" }
    kvm2 = { endpoint = "ssh://root@10.0.0.12", tunnel_ip = "172.16.0.12" }
  }
}

# One network for machines on every hypervisor that is a chassis of this OVN.
resource "virtcluster_ovn_network" "nodes" {
  ovn       = virtcluster_ovn.lab.id
  name      = "nodes"
  cidr      = "10.50.0.0/24"
  gateway   = "10.50.0.1"
  ipv6_cidr = "fd00:50::/64"

  dhcp = {
    pool        = ["10.50.0.100-10.50.0.199"]
    nameservers = ["10.50.0.2", "10.50.0.3"]
    options     = { domain_name = "okd.example", ntp_server = "10.50.0.2" }
  }
}
