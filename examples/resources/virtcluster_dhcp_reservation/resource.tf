resource "virtcluster_network" "management" {
  name = "kimgtnet0"
  cidr = "10.0.0.0/24"
  dhcp = { ranges = [{ start = "10.0.0.210", end = "10.0.0.240" }] }
}

# A machine that Terraform does not make.
resource "virtcluster_dhcp_reservation" "registry" {
  network  = virtcluster_network.management.name
  mac      = "52:54:00:aa:6c:01"
  ip       = "10.0.0.90"
  hostname = "registry"
}
