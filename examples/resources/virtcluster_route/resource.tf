# The hypervisor reaches the pods of a node, now and after a reboot.
resource "virtcluster_route" "pods" {
  host = "ssh://root@kvm1.example?host_key=nThbg6kXUpJWGl7E1IGOCspRomTxdCARLviKw6E5SY8"
  cidr = "10.128.2.0/23"
  via  = "10.0.0.2"
}
