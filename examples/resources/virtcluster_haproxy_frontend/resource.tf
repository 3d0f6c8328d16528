resource "virtcluster_service_node" "balancer" {
  endpoint = "ssh://root@10.0.0.100"
  services = ["haproxy"]
}

resource "virtcluster_haproxy_backend" "backend" {
  for_each = {
    api     = 6443
    ingress = 443
    web     = 80
  }

  service_node = virtcluster_service_node.balancer.id
  name         = each.key
  mode         = each.key == "web" ? "http" : "tcp"
  servers = {
    okd-master-01 = { address = "10.0.0.1", port = each.value, check = true }
  }
}

# The API on a VIP of the inside and one of the outside, which need not be on this machine now.
resource "virtcluster_haproxy_frontend" "api" {
  service_node = virtcluster_service_node.balancer.id
  name         = "api"
  mode         = "tcp"
  binds = [
    { address = "10.0.0.250", port = 6443 },
    { address = "2001:db8::250", port = 6443 },
  ]
  default_backend = virtcluster_haproxy_backend.backend["api"].name
}

# One port for several names: TLS is routed by the name that the client asks for, and not terminated.
resource "virtcluster_haproxy_frontend" "tls" {
  service_node = virtcluster_service_node.balancer.id
  name         = "tls"
  mode         = "tcp"
  binds        = [{ address = "10.19.41.160", port = 443 }]
  extra_config = <<-EOT
    tcp-request inspect-delay 5s
    tcp-request content accept if { req.ssl_hello_type 1 }
  EOT
  rules = [
    { backend = virtcluster_haproxy_backend.backend["api"].name, if = "{ req.ssl_sni -i api.okd.example }" },
  ]
  default_backend = virtcluster_haproxy_backend.backend["ingress"].name
}

# HTTP with rules, and TLS that ends here.
resource "virtcluster_haproxy_frontend" "web" {
  service_node = virtcluster_service_node.balancer.id
  name         = "web"
  mode         = "http"
  binds = [
    { port = 80 },
    { port = 8443, options = ["ssl", "crt /etc/haproxy/site.pem", "alpn h2,http/1.1"] },
  ]
  options     = ["forwardfor", "httplog"]
  monitor_uri = "/healthz"
  acls = {
    is_app  = "hdr_end(host) -i .apps.okd.example"
    is_evil = "path_beg /admin"
  }
  extra_config = <<-EOT
    http-request deny if is_evil
  EOT
  rules = [
    { backend = virtcluster_haproxy_backend.backend["web"].name, if = "is_app" },
  ]
}
