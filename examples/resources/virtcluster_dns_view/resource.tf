terraform {
  required_providers {
    virtcluster = { source = "virtcluster/virtcluster" }
  }
}

resource "virtcluster_service_node" "dns" {
  endpoint = "ssh://root@10.0.0.100"
  services = ["bind"]
}

# Whoever asks the external address gets the external answers, a machine of the cluster too: this view comes first.
resource "virtcluster_dns_view" "external" {
  service_node       = virtcluster_service_node.dns.id
  name               = "external"
  order              = 10
  match_destinations = ["10.19.41.157"]
}

# Machines of the cluster learn every name and may ask for names elsewhere; the LAN, which lies in 10.0.0.0/8 too, may not.
resource "virtcluster_dns_view" "internal" {
  service_node  = virtcluster_service_node.dns.id
  name          = "internal"
  order         = 20
  match_clients = ["!10.19.41.0/24", "10.0.0.0/8", "localhost"]
  recursion     = true
  forwarders    = ["10.19.41.2"]
}
