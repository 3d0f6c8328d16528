resource "virtcluster_service_node" "each" {
  for_each = toset(["10.0.0.100", "10.0.0.101"])
  endpoint = "ssh://root@${each.key}"
  services = ["ipxe"]
}

# A pair: what one knows of a machine the other one knows too.
resource "virtcluster_boot_server" "each" {
  for_each     = virtcluster_service_node.each
  service_node = each.value.id
  http         = { address = each.key }
  peers        = [for address in keys(virtcluster_service_node.each) : "${address}:8090" if address != each.key]
}
