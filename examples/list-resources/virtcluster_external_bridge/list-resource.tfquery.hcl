# Of the provider's own hypervisor; service_nodes names machines that are none.
list "virtcluster_external_bridge" "all" {
  provider         = virtcluster
  include_resource = true

  config {}
}
