# Of the provider's own hypervisor, what no state has.
list "virtcluster_dhcp_reservation" "all" {
  provider         = virtcluster
  include_resource = true

  config {
    unmanaged = true
  }
}
