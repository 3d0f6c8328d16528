resource "virtcluster_network" "management" {
  name    = "kimgtnet0"
  mode    = "nat"
  bridge  = "kimgtbr0"
  cidr    = "10.0.0.0/24"
  gateway = "10.0.0.254"

  # Nodes ask the service nodes, which know the cluster's names; the network's own server does not.
  dhcp = {
    ranges  = [{ start = "10.0.0.210", end = "10.0.0.240" }]
    options = { dns-server = join(",", [for node in values(var.services) : node.ip]) }
  }
}

# Takes the hypervisor's interface in and moves its addresses to the bridge; a rollback is armed meanwhile. Whatever manages the
# interface (NetworkManager, systemd-networkd, netplan or ifupdown) keeps the bridge over reboots.
resource "virtcluster_external_bridge" "external" {
  name       = "kiextbr0"
  interfaces = [{ interface = var.external.interface }]
  addressing = "inherit"
  backend    = "auto"

  lifecycle {
    postcondition {
      condition     = self.active_backend != "runtime"
      error_message = "Nothing manages ${var.external.interface}, so the bridge would be gone after a reboot of the hypervisor: have a network manager configure the interface first."
    }
  }
}
