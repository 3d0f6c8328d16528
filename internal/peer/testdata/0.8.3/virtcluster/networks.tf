resource "virtcluster_network" "kube" {
  name      = "k8snet"
  mode      = "nat"
  domain    = "k8s.local"
  cidr      = "10.17.3.0/24"
  ipv6_cidr = "2001:db8:ca2:2::/64"
  mtu       = 1450

  dhcp = {
    ranges = [
      { start = "10.17.3.2", end = "10.17.3.254" },
      { start = "2001:db8:ca2:2::2", end = "2001:db8:ca2:2::fffe" },
    ]
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
  name   = "dmz"
  mode   = "route"
  bridge = "virbr-dmz"
  domain = "dmz.example"
  cidr   = "10.98.0.0/24"
  dhcp   = { ranges = [{ start = "10.98.0.2", end = "10.98.0.254" }] }
}

# Its service record stays in libvirt, and is nobody's attribute.
resource "virtcluster_network" "etcd" {
  name      = "etcd"
  mode      = "nat"
  domain    = "etcd.example"
  cidr      = "10.97.0.0/24"
  dhcp      = { ranges = [{ start = "10.97.0.2", end = "10.97.0.254" }] }
  autostart = false
}

resource "virtcluster_network" "lan" {
  name   = "lan"
  mode   = "bridge"
  bridge = "br0"
}
