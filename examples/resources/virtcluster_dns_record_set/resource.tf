terraform {
  required_providers {
    virtcluster = { source = "virtcluster/virtcluster" }
  }
}

resource "virtcluster_service_node" "dns" {
  endpoint = "ssh://root@10.0.0.100"
  services = ["bind"]
}

resource "virtcluster_dns_view" "internal" {
  service_node  = virtcluster_service_node.dns.id
  name          = "internal"
  match_clients = ["10.0.0.0/8", "localhost"]
}

resource "virtcluster_dns_zone" "cluster" {
  service_node = virtcluster_service_node.dns.id
  view         = virtcluster_dns_view.internal.name
  name         = "okd.example.com"
}

# What another module, or another state, adds to the zone.
resource "virtcluster_dns_record_set" "registry" {
  service_node = virtcluster_service_node.dns.id
  view         = virtcluster_dns_zone.cluster.view
  zone         = virtcluster_dns_zone.cluster.name
  name         = "registry"
  type         = "A"
  ttl          = 600
  values       = ["10.0.0.60", "10.0.0.61"]
}

resource "virtcluster_dns_record_set" "spf" {
  service_node = virtcluster_service_node.dns.id
  view         = virtcluster_dns_zone.cluster.view
  zone         = virtcluster_dns_zone.cluster.name
  name         = "@"
  type         = "TXT"
  values       = ["v=spf1 -all"]
}
