resource "virtcluster_service_node" "balancer" {
  endpoint = "ssh://root@10.0.0.100"
  services = ["haproxy"]
}

variable "masters" {
  type = map(string)
  default = {
    okd-master-01 = "10.0.0.1"
    okd-master-02 = "10.0.0.2"
    okd-master-03 = "10.0.0.3"
  }
}

# The API servers say on /readyz whether they take requests; the bootstrap machine helps until they do.
resource "virtcluster_haproxy_backend" "api" {
  service_node = virtcluster_service_node.balancer.id
  name         = "api"
  mode         = "tcp"
  balance      = "roundrobin"

  http_check = {
    method = "GET"
    uri    = "/readyz"
    expect = "status 200"
  }
  default_server = {
    check     = true
    check_ssl = true
    verify    = "none"
    inter     = "10s"
    fall      = 2
    rise      = 3
  }
  servers = merge(
    { for name, ip in var.masters : name => { address = ip, port = 6443 } },
    { okd-bootstrap-01 = { address = "10.0.0.200", port = 6443, backup = true } },
  )
}

# Workers get the applications' traffic; a client keeps its worker. The second one is about to be rebooted.
resource "virtcluster_haproxy_backend" "ingress" {
  service_node = virtcluster_service_node.balancer.id
  name         = "ingress"
  mode         = "tcp"
  balance      = "source"
  hash_type    = "consistent"
  timeouts     = { server = "5m", tunnel = "1h" }
  servers = {
    okd-worker-01 = { address = "10.0.0.4", port = 443, check = true, send_proxy = true }
    okd-worker-02 = { address = "10.0.0.5", port = 443, check = true, send_proxy = true, state = "drain" }
  }
}
