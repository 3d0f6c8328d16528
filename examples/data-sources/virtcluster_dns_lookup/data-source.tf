terraform {
  required_providers {
    virtcluster = { source = "virtcluster/virtcluster" }
  }
}

resource "virtcluster_service_node" "dns" {
  endpoint = "ssh://root@10.0.0.100"
  services = ["bind"]
}

# What the view for the machine's own external address answers.
data "virtcluster_dns_lookup" "api" {
  server       = "10.0.0.100"
  name         = "api.okd.example.com"
  from         = "10.19.41.157"
  service_node = virtcluster_service_node.dns.id
}

# Whose address is this?
data "virtcluster_dns_lookup" "master" {
  server = "10.0.0.100"
  name   = "10.0.0.1"
  type   = "PTR"
}

output "api" {
  value = data.virtcluster_dns_lookup.api.values
}
