# Of the provider's own hypervisor.
list "virtcluster_bmc" "all" {
  provider         = virtcluster
  include_resource = true

  config {}
}
