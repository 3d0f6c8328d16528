# Two hypervisors whose guests are on the same networks; the first one has the databases too.
resource "virtcluster_ovn" "lab" {
  central = ["ssh://root@10.0.0.11"]

  chassis = {
    kvm1 = { endpoint = "ssh://root@10.0.0.11", tunnel_ip = "172.16.0.11" }
    kvm2 = { endpoint = "ssh://root@10.0.0.12", tunnel_ip = "172.16.0.12", bridge_mappings = { lan = "br-ex" } }
  }
}
