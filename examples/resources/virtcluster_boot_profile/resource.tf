resource "virtcluster_service_node" "first" {
  endpoint = "ssh://root@10.0.0.100"
  services = ["ipxe"]
}

resource "virtcluster_boot_server" "first" {
  service_node = virtcluster_service_node.first.id
  http         = { address = "10.0.0.100" }
}

# The machine is installed once: CoreOS' installer fetches its Ignition, and every later boot is from the disk.
resource "virtcluster_boot_profile" "worker" {
  boot_server = virtcluster_boot_server.first.id
  name        = "worker-1"
  mac         = "52:54:00:aa:00:11"
  kernel      = "http://10.0.0.100:8080/live-kernel"
  initrd      = ["http://10.0.0.100:8080/live-initramfs.img", "http://10.0.0.100:8080/live-rootfs.img"]
  cmdline     = "coreos.inst.install_dev=/dev/vda coreos.inst.ignition_url={file}"
  butane      = <<-EOT
    variant: fcos
    version: 1.5.0
    passwd:
      users:
        - name: core
          ssh_authorized_keys: ["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJx key"]
  EOT
}
