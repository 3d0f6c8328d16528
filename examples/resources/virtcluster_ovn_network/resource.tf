# One network for machines on every hypervisor that is a chassis of the OVN whose databases are there.
resource "virtcluster_ovn_network" "nodes" {
  ovn     = "ssh://root@10.0.0.100"
  name    = "nodes"
  cidr    = "10.50.0.0/24"
  gateway = "10.50.0.1"

  dhcp = {
    pool        = ["10.50.0.100-10.50.0.199"]
    nameservers = ["10.50.0.2", "10.50.0.3"]
    options     = { domain_name = "okd.example", ntp_server = "10.50.0.2" }
  }
}
