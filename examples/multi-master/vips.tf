# Both addresses move together: the sync group keeps them on one machine. They are there once somebody answers at them, and go
# before that.
resource "virtcluster_vip" "inside" {
  name       = "okd-api"
  addresses  = ["${var.vips.inside}/24"]
  sync_group = "okd"

  members = { for name, node in var.services : name => {
    service_node = virtcluster_haproxy.service[name].service_node
    interface    = "eth0"
    address      = node.ip
    priority     = node.priority
  } }

  track = [{ name = "haproxy", process = "haproxy" }]

  depends_on = [virtcluster_haproxy_frontend.balanced]
}

resource "virtcluster_vip" "outside" {
  name       = "okd-ingress"
  addresses  = ["${var.vips.outside}/24"]
  sync_group = "okd"

  members = { for name, node in var.services : name => {
    service_node = virtcluster_haproxy.service[name].service_node
    interface    = "eth1"
    address      = node.external_ip
    priority     = node.priority
  } }

  depends_on = [virtcluster_haproxy_frontend.balanced]
}
