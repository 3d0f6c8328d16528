resource "virtcluster_service_node" "balancer" {
  endpoint = "ssh://root@10.0.0.100"
  services = ["haproxy"]
}

variable "stats_password" {
  type      = string
  sensitive = true
}

resource "virtcluster_haproxy" "balancer" {
  service_node = virtcluster_service_node.balancer.id

  maxconn = 20000
  mode    = "tcp"
  options = ["dontlognull", "log-health-checks"]
  timeouts = {
    connect = "5s"
    client  = "5m"
    server  = "5m"
  }

  # What keepalived asks on this machine: curl http://127.0.0.1:9000/healthz
  health = { address = "127.0.0.1", port = 9000 }

  stats = {
    address  = "10.0.0.100"
    port     = 9001
    user     = "admin"
    password = var.stats_password
    refresh  = "10s"
  }

  extra_config = <<-EOT
    tune.ssl.default-dh-param 2048
  EOT
}
