terraform {
  required_providers {
    virtcluster = { source = "virtcluster/virtcluster" }
  }
}

resource "virtcluster_service_node" "dns" {
  endpoint = "ssh://root@10.0.0.100"
  services = ["bind"]
}

# Answers on two addresses of the machine, and asks the company's servers for everything else.
resource "virtcluster_dns_server" "dns" {
  service_node      = virtcluster_service_node.dns.id
  listen_on         = ["127.0.0.1", "10.0.0.100", "10.19.41.157"]
  forwarders        = ["10.19.41.2", "10.19.41.3:5353"]
  allow_query       = ["any"]
  allow_recursion   = ["10.0.0.0/8", "localhost"]
  dnssec_validation = "no"
  options = {
    "max-cache-size"    = "64m"
    "minimal-responses" = "yes"
  }
}
