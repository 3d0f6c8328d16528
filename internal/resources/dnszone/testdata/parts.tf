resource "virtcluster_dns_server" "dns" {
  service_node      = local.node
  listen_on         = ["any"]
  forwarders        = ["10.19.41.2", "10.19.41.3:5353"]
  allow_query       = ["any"]
  allow_recursion   = ["10.0.0.0/8"]
  dnssec_validation = "no"
  options           = { "minimal-responses" = "yes" }
}
resource "virtcluster_dns_view" "internal" {
  service_node       = virtcluster_dns_server.dns.service_node
  name               = "internal"
  order              = 10
  match_clients      = ["!10.19.41.0/24", "10.0.0.0/8", "localhost", "FD00:0::/64"]
  match_destinations = ["any"]
  recursion          = true
  forwarders         = ["10.19.41.2"]
  options            = { "minimal-responses" = "yes" }
}
resource "virtcluster_dns_view" "external" {
  service_node  = virtcluster_dns_server.dns.service_node
  name          = "external"
  order         = 20
  match_clients = ["any"]
}
locals { v = { service_node = virtcluster_dns_view.internal.service_node, view = virtcluster_dns_view.internal.name } }
resource "virtcluster_dns_zone" "primary" {
  service_node = local.v.service_node
  view         = local.v.view
  name         = "OKD.example"
  ttl          = 60
  name_servers = ["ns1"]
  soa          = { rname = "Admin.example.com.", minimum = 30 }
  records = {
    NS1                     = { A = ["10.0.0.100"], AAAA = ["FD00:0::100"] }
    "m1.okd.example."       = { A = ["10.0.0.1"] }
    m2                      = { A = ["10.0.0.2"] }
    bootstrap               = { A = ["10.0.0.9"] }
    etcd-0                  = { A = ["10.0.0.1"] }
    api                     = { A = ["10.0.0.250"] }
    api-int                 = { a = ["10.0.0.250"] }
    "*.apps"                = { A = ["10.0.0.251", "10.0.0.250"] }
    "_etcd-server-ssl._tcp" = { SRV = ["0  10 2380 Etcd-0", "0 10 2380 m2.okd.example."] }
    console                 = { CNAME = ["console.apps"] }
    "@"                     = { MX = ["10 mail.example."], CAA = ["0 issue \"ca.example.net\""] }
    long                    = { TXT = [join("", [for i in range(40) : "0123456789 \\\"; "])] }
    two                     = { TXT = ["\"one\" \"two\""] }
    utf                     = { TXT = ["grün"] }
    "bücher"                = { CNAME = ["api"] }
    sub                     = { NS = ["ns.other.example."] }
  }
}
resource "virtcluster_dns_zone" "external" {
  service_node = virtcluster_dns_view.external.service_node
  view         = virtcluster_dns_view.external.name
  name         = "okd.example"
  records      = { api = { A = ["10.19.41.160"] } }
}
resource "virtcluster_dns_zone" "octet" {
  service_node = local.v.service_node
  view         = local.v.view
  cidr         = "10.0.0.0/24"
  name_servers = ["ns1.okd.example."]
  pointers     = { "10.0.0.1" = "m1.okd.example", "10.0.0.2" = "M2.okd.example." }
}
resource "virtcluster_dns_zone" "between" {
  service_node = local.v.service_node
  view         = local.v.view
  cidr         = "10.77.16.0/20"
  pointers     = { "10.77.17.1" = "x.okd.example" }
}
resource "virtcluster_dns_zone" "classless" {
  service_node = local.v.service_node
  view         = local.v.view
  cidr         = "192.0.2.128/25"
  pointers     = { "192.0.2.130" = "edge.okd.example." }
}
resource "virtcluster_dns_zone" "above" {
  service_node = local.v.service_node
  view         = local.v.view
  cidr         = "192.0.2.0/24"
  records      = virtcluster_dns_zone.classless.parent_records
}
resource "virtcluster_dns_zone" "six" {
  service_node = local.v.service_node
  view         = local.v.view
  cidr         = "FD00:0::/64"
  pointers     = { "fd00::0:1" = "six.okd.example" }
}
resource "virtcluster_dns_zone" "forward" {
  service_node = local.v.service_node
  view         = local.v.view
  name         = "corp.example"
  forward      = { servers = ["10.19.41.2", "10.19.41.3:53"] }
}
resource "virtcluster_dns_record_set" "www" {
  service_node = virtcluster_dns_zone.primary.service_node
  view         = virtcluster_dns_zone.primary.view
  zone         = virtcluster_dns_zone.primary.name
  name         = "WWW"
  type         = "a"
  ttl          = 600
  values       = ["10.0.0.61", "10.0.0.60"]
}
resource "virtcluster_dns_record_set" "text" {
  service_node = virtcluster_dns_zone.primary.service_node
  view         = virtcluster_dns_zone.primary.view
  zone         = virtcluster_dns_zone.primary.name
  name         = "@"
  type         = "TXT"
  values       = ["v=spf1 -all"]
}
