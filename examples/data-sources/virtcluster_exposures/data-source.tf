data "virtcluster_exposures" "edge" {
  service_node = "ssh://root@10.0.0.100"
}

output "reached_from_outside" {
  value = {
    for name, e in data.virtcluster_exposures.edge.exposures : name => {
      at          = e.address
      connections = e.connections
    }
  }
}
