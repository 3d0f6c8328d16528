# The whole set-up: a network, an external bridge, three masters, two workers, a bootstrap, and a pair of service nodes with DNS in two
# views, load balancing and virtual addresses.
# `make demo-kubeinit` runs it.
provider "virtcluster" {
  uri = var.uri
  ssh = { private_key_file = var.key }
}

module "okd" {
  source = "../modules/multi-master"

  name          = "okd"
  base_domain   = "example"
  bootstrap     = var.bootstrap
  masters_serve = var.masters_serve
  networks      = { kimgtnet0 = { cidr = "10.0.0.0/24", gateway = "10.0.0.254", bridge = "kimgtbr0", range = { start = "10.0.0.210", end = "10.0.0.240" } } }
  external      = { cidr = "10.19.41.0/24", gateway = "10.19.41.254", bridge = "kiextbr0", interfaces = ["eno1"] }
  vips          = { inside = "10.0.0.250", outside = "10.19.41.160" }
  pool          = { name = "okd", path = "/var/lib/libvirt/okd" }
  node          = merge(var.node, { image = var.images.cluster, checksum = var.checksums.cluster })
  service       = { image = var.images.service, checksum = var.checksums.service, public_key = trimspace(file("${var.key}.pub")) }

  machines = merge(
    { for i in range(3) : "okd-master-0${i + 1}" => { role = "master", ip = "10.0.0.${i + 1}" } },
    { for i in range(2) : "okd-worker-0${i + 1}" => { role = "worker", ip = "10.0.0.${i + 4}" } },
    { okd-bootstrap-01 = { role = "bootstrap", ip = "10.0.0.200" } },
  )

  service_nodes = {
    okd-service-01 = { ip = "10.0.0.100", external_ip = "10.19.41.157", priority = 110, host_key_file = var.host_keys[0] }
    okd-service-02 = { ip = "10.0.0.101", external_ip = "10.19.41.158", priority = 100, host_key_file = var.host_keys[1] }
  }
}

output "okd" {
  value = { api = module.okd.api, ssh = module.okd.ssh, owner = module.okd.vip_owner }
}
