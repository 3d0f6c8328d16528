# The API server answers through the balancer, as a machine inside of the cluster's network sees it.
resource "virtcluster_readiness" "api" {
  url      = "https://api-int.okd.example:6443/readyz"
  from     = "ssh://root@10.0.0.100"
  insecure = true
  expect   = { body = "^ok$" }
  timeout  = "45m"
}

resource "virtcluster_readiness" "names" {
  dns    = "api.okd.example"
  expect = { addresses = ["192.0.2.250"] }
}

variable "bootstrap" {
  type    = bool
  default = true
}

resource "virtcluster_node" "bootstrap" {
  count = var.bootstrap ? 1 : 0

  name               = "okd-bootstrap-01"
  memory_mib         = 16384
  network_interfaces = [{ network = "okd", ip = "10.0.0.200" }]
}

# Until the master's own API answers, the bootstrap stays: it goes after this, which waits before it goes.
resource "virtcluster_readiness" "master" {
  count = var.bootstrap ? 1 : 0

  url        = "https://10.0.0.1:6443/readyz"
  from       = "ssh://root@10.0.0.100"
  insecure   = true
  when       = "destroy"
  timeout    = "45m"
  depends_on = [virtcluster_node.bootstrap]
}
