# Guests on kiextbr0 are on the external LAN; the host keeps its address, now on the bridge.
resource "virtcluster_external_bridge" "external" {
  name       = "kiextbr0"
  interfaces = ["eno1"]
}
