# Of the provider's own hypervisor, what no state has.
list "virtcluster_image" "all" {
  provider         = virtcluster
  include_resource = true

  config {
    unmanaged = true
  }
}
