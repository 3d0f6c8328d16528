# What it is told may come from resources: cidr = virtcluster_network.n.cidr, owner = virtcluster_vip.api.owner …
data "virtcluster_topology" "okd" {
  title = "okd.example"

  networks = {
    external  = { cidr = "10.19.41.0/24", gateway = "10.19.41.254", mode = "bridge kiextbr0", outside = true }
    kimgtnet0 = { cidr = "10.0.0.0/24", gateway = "10.0.0.254", mode = "nat" }
  }

  machines = merge(
    { for i in range(3) : "okd-master-0${i + 1}" => { role = "master", addresses = { kimgtnet0 = "10.0.0.${i + 1}" } } },
    { for i in range(2) : "okd-worker-0${i + 1}" => { role = "worker", addresses = { kimgtnet0 = "10.0.0.${i + 4}" } } },
    { for i in range(2) : "okd-service-0${i + 1}" => { role = "service", addresses = { kimgtnet0 = "10.0.0.10${i}", external = "10.19.41.${157 + i}" } } },
    { okd-bootstrap-01 = { role = "bootstrap", addresses = { kimgtnet0 = "10.0.0.200" } } },
  )

  vips = {
    okd-api     = { network = "kimgtnet0", address = "10.0.0.250", members = ["okd-service-01", "okd-service-02"], owner = "okd-service-01" }
    okd-ingress = { network = "external", address = "10.19.41.160", members = ["okd-service-01", "okd-service-02"], owner = "okd-service-01" }
  }

  frontends = {
    for name, f in {
      api            = { port = 6443, outside = true, servers = ["okd-master-01", "okd-master-02", "okd-master-03", "okd-bootstrap-01"] }
      machine-config = { port = 22623, outside = false, servers = ["okd-master-01", "okd-master-02", "okd-master-03", "okd-bootstrap-01"] }
      ingress-http   = { port = 80, outside = true, servers = ["okd-worker-01", "okd-worker-02"] }
      ingress-https  = { port = 443, outside = true, servers = ["okd-worker-01", "okd-worker-02"] }
      } : "okd-${name}" => {
      machines = ["okd-service-01", "okd-service-02"]
      binds    = concat(["10.0.0.250:${f.port}"], f.outside ? ["10.19.41.160:${f.port}"] : [])
      servers  = f.servers
    }
  }

  views = {
    external = { network = "external", machines = ["okd-service-01", "okd-service-02"], clients = ["who asks an address outside"], zones = ["okd.example"] }
    internal = { network = "kimgtnet0", machines = ["okd-service-01", "okd-service-02"], clients = ["10.0.0.0/24"], zones = ["okd.example", "0.0.10.in-addr.arpa"] }
  }
}

# terraform output -raw picture > okd.svg
output "picture" {
  value = data.virtcluster_topology.okd.svg
}

# terraform output -raw page > okd.html
output "page" {
  value = data.virtcluster_topology.okd.html
}
