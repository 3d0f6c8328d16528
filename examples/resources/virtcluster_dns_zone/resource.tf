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

variable "masters" {
  type = map(string)
  default = {
    okd-master-01 = "10.0.0.1"
    okd-master-02 = "10.0.0.2"
    okd-master-03 = "10.0.0.3"
  }
}

# What OpenShift asks for.
resource "virtcluster_dns_zone" "cluster" {
  service_node = virtcluster_service_node.dns.id
  view         = virtcluster_dns_view.internal.name
  name         = "okd.example.com"
  ttl          = 60
  name_servers = ["ns1"]
  soa          = { rname = "admin.example.com.", minimum = 30 }

  records = merge(
    { for name, ip in var.masters : name => { A = [ip] } },
    { for i, name in keys(var.masters) : "etcd-${i}" => { A = [var.masters[name]] } },
    {
      ns1                     = { A = ["10.0.0.100"], AAAA = ["fd00::100"] }
      api                     = { A = ["10.0.0.250"] }
      api-int                 = { A = ["10.0.0.250"] }
      "*.apps"                = { A = ["10.0.0.250"] }
      "_etcd-server-ssl._tcp" = { SRV = [for i, name in keys(var.masters) : "0 10 2380 etcd-${i}"] }
      "@"                     = { MX = ["10 mail.example.com."], CAA = ["0 issue \"ca.example.net\""] }
      console                 = { CNAME = ["console.apps"] }
    },
  )
}

# Addresses to names.
resource "virtcluster_dns_zone" "reverse" {
  service_node = virtcluster_service_node.dns.id
  view         = virtcluster_dns_view.internal.name
  cidr         = "10.0.0.0/24"
  name_servers = ["ns1.okd.example.com."]
  pointers     = { for name, ip in var.masters : ip => "${name}.okd.example.com." }
}

# Half a /24 (RFC 2317), and the zone above it that leads there.
resource "virtcluster_dns_zone" "half" {
  service_node = virtcluster_service_node.dns.id
  view         = virtcluster_dns_view.internal.name
  cidr         = "192.0.2.128/25"
  pointers     = { "192.0.2.130" = "edge.okd.example.com." }
}

resource "virtcluster_dns_zone" "above" {
  service_node = virtcluster_service_node.dns.id
  view         = virtcluster_dns_view.internal.name
  cidr         = "192.0.2.0/24"
  records      = virtcluster_dns_zone.half.parent_records
}

# Names that other servers know.
resource "virtcluster_dns_zone" "company" {
  service_node = virtcluster_service_node.dns.id
  view         = virtcluster_dns_view.internal.name
  name         = "corp.example.com"
  forward      = { servers = ["10.19.41.2", "10.19.41.3"] }
}
