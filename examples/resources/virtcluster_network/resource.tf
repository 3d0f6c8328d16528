# Management network: addresses from DHCP, out through the hypervisor.
resource "virtcluster_network" "management" {
  name    = "kimgtnet0"
  mode    = "nat"
  bridge  = "kimgtbr0"
  cidr    = "10.0.0.0/24"
  gateway = "10.0.0.254"
  domain  = "okd.example"

  dhcp = {
    ranges        = [{ start = "10.0.0.210", end = "10.0.0.240" }]
    lease_seconds = 3600
    hosts         = { "52:54:00:aa:6c:b1" = { ip = "10.0.0.1", hostname = "okd-master-01" } }
    options       = { "ntp-server" = "10.0.0.100" }
  }

  dns = {
    local_only = true
    forwarders = [{ domain = "corp.example", address = "10.19.41.1" }]
    hosts      = { "10.0.0.250" = ["api", "api-int"] }
  }
}

# Provisioning network: nothing but a wire, whoever provisions answers DHCP on it.
resource "virtcluster_network" "provisioning" {
  name   = "kiprvnet0"
  mode   = "isolated"
  bridge = "kiprvbr0"
}

# An existing bridge under a name that nodes can refer to.
resource "virtcluster_network" "external" {
  name   = "kiextnet0"
  mode   = "bridge"
  bridge = "kiextbr0"
}
