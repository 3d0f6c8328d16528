resource "virtcluster_service_node" "first" {
  endpoint = "ssh://root@10.0.0.100"
  services = ["kea"]
}

# A provisioning network: machines get an address, and boot iPXE, which runs a script.
resource "virtcluster_dhcp_server" "provisioning" {
  service_node = virtcluster_service_node.first.id
  interface    = "eth1"
  cidr         = "10.0.0.0/24"
  ranges       = [{ start = "10.0.0.150", end = "10.0.0.199" }]
  hosts = {
    "52:54:00:aa:00:01" = { ip = "10.0.0.11", hostname = "master-1" }
  }
  options = {
    routers               = "10.0.0.1"
    "domain-name-servers" = "10.0.0.100"
  }
  boot = {
    next_server = "10.0.0.100"
    bios        = "ipxe.pxe"
    uefi_x64    = "snponly.efi"
    http_x64    = "http://10.0.0.100:8090/snponly.efi"
    ipxe        = "http://10.0.0.100:8090/boot.ipxe"
  }
}
