# What the hypervisor's own network is, before a bridge takes an interface of it.
data "virtcluster_host_network" "kvm1" {
  host = "ssh://root@kvm1.example"
}

output "managed_by" {
  value = { for name, link in data.virtcluster_host_network.kvm1.links : name => link.managed_by }
}
