data "virtcluster_hypervisor" "here" {}

output "guest_type" {
  value = data.virtcluster_hypervisor.here.kvm ? "kvm" : "qemu"
}
