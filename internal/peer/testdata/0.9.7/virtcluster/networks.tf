resource "virtcluster_network" "kube" {
  name      = "k8snet"
  mode      = "nat"
  bridge    = "virbr-k8s"
  domain    = "k8s.local"
  cidr      = "10.17.3.0/24"
  ipv6_cidr = "2001:db8:ca2:2::/64"
  mtu       = 1450

  # The fixed addresses are the nodes', each as the ip of an interface.
  dhcp = {
    ranges        = [{ start = "10.17.3.100", end = "10.17.3.200" }]
    lease_seconds = 7200
  }

  dns = {
    local_only = true
    forwarders = [
      { domain = "corp.example", address = "10.19.41.1" },
      { address = "9.9.9.9" },
    ]
    hosts = {
      "10.17.3.2" = ["api", "api-int"]
      "10.17.3.5" = ["registry"]
    }
  }

  routes = [{ cidr = "10.128.0.0/14", via = "10.17.3.21" }]
}

resource "virtcluster_network" "back" {
  name      = "backnet"
  mode      = "isolated"
  cidr      = "10.99.0.0/24"
  autostart = false
}

resource "virtcluster_network" "dmz" {
  name    = "dmz"
  mode    = "route"
  bridge  = "virbr-dmz"
  domain  = "dmz.example"
  cidr    = "10.98.0.0/24"
  gateway = "10.98.0.254"
  dhcp    = { ranges = [{ start = "10.98.0.50", end = "10.98.0.99" }] }
  pxe     = { tftp_root = "/srv/tftp", boot_file = "pxelinux.0" }
}

resource "virtcluster_network" "lan" {
  name   = "lan"
  mode   = "bridge"
  bridge = "br0"
}
