variable "bmc_password" {
  type      = string
  sensitive = true
}

resource "virtcluster_node" "worker" {
  for_each = toset(["okd-worker-01", "okd-worker-02"])

  name               = each.key
  memory_mib         = 16384
  vcpus              = 4
  power              = "external"
  running            = false
  root_disk          = { size_gib = 120 }
  network_interfaces = [{ network = "provisioning" }]
}

# Ironic, Metal³ or an installer switches the workers at these ports of the hypervisor.
resource "virtcluster_bmc" "rack" {
  name                = "rack"
  address             = "10.0.0.1"
  user                = "admin"
  password_wo         = var.bmc_password
  password_wo_version = 1

  nodes = {
    (virtcluster_node.worker["okd-worker-01"].name) = { port = 8001, ipmi_port = 6231 }
    (virtcluster_node.worker["okd-worker-02"].name) = { port = 8002, ipmi_port = 6232 }
  }
}

output "bmc_addresses" {
  value = { for name, node in virtcluster_bmc.rack.nodes : name => node.redfish_url }
}
