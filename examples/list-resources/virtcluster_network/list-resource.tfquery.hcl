# Of the provider's own hypervisor, what no state has.
list "virtcluster_network" "all" {
  provider         = virtcluster
  include_resource = true

  config {
    unmanaged = true
  }
}
