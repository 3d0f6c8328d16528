output "machines" {
  description = "What a cluster needs to know of each machine. It waits until that is there."
  value = { for name, machine in var.machines : name => {
    service_node = virtcluster_haproxy.machine[name].service_node
    views        = { internal = virtcluster_dns_view.internal[name].name, external = virtcluster_dns_view.external[name].name }
    address      = machine.address
    outside      = machine.outside
    priority     = machine.priority
  } }
}
