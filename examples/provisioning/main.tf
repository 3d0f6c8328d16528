# Machines without an image boot from the network, install themselves, and boot from their disks from then on. They boot from a pair of
# service nodes, either of which is enough, and are switched on by their controllers (IPMI, Redfish), as installers do it.
# `make demo-provisioning` runs it.
provider "virtcluster" {
  uri = "qemu+ssh://root@${var.hypervisor}/system"
  ssh = { private_key_file = var.key }
}

locals {
  peers = { first = "second", second = "first" }
}

resource "virtcluster_service_node" "each" {
  for_each = var.service_nodes
  endpoint = "ssh://root@${each.value}"
  services = ["ipxe", "kea"]
}

# What machines fetch lies beside their hypervisor, so that it is there whichever of the pair serves.
resource "virtcluster_service_node" "files" {
  endpoint = "ssh://root@${var.hypervisor}"
}

resource "virtcluster_http_content" "each" {
  for_each     = toset(["kernel", "initrd", "disk.img"])
  service_node = virtcluster_service_node.files.id
  listen       = "${var.hypervisor}:8080"
  path         = "/installer/${each.key}"
  source       = "${var.installer}/${each.key}"
}

resource "virtcluster_boot_server" "each" {
  for_each     = var.service_nodes
  service_node = virtcluster_service_node.each[each.key].id
  http         = { address = each.value }
  peers        = ["${var.service_nodes[local.peers[each.key]]}:8090"]
}

resource "virtcluster_dhcp_server" "each" {
  for_each     = var.service_nodes
  service_node = virtcluster_service_node.each[each.key].id
  interface    = var.network.interface
  cidr         = var.network.cidr
  hosts        = { for name, m in var.machines : m.mac => { ip = m.ip, hostname = name } }
  boot         = virtcluster_boot_server.each[each.key].files
  pair = {
    role    = each.key == "first" ? "primary" : "standby"
    address = each.value
    peer    = var.service_nodes[local.peers[each.key]]
    port    = 8067
  }
}

# The installer writes the image to the disk, takes its cloud-init, and reports back: then the machine is installed. Another generation has it
# installed again.
resource "virtcluster_boot_profile" "each" {
  for_each        = var.machines
  boot_server     = virtcluster_boot_server.each["first"].id
  standby         = virtcluster_boot_server.each["second"].id
  name            = each.key
  mac             = each.value.mac
  kernel          = virtcluster_http_content.each["kernel"].url
  initrd          = [virtcluster_http_content.each["initrd"].url]
  cmdline         = "console=ttyS0 image=${virtcluster_http_content.each["disk.img"].url} config={base} report={report_url}"
  cloud_init      = { user_data = "#cloud-config\nhostname: installed\n" }
  wait_for_report = true
}

resource "virtcluster_storage_pool" "machines" {
  name = "provisioning"
  path = "/var/lib/libvirt/provisioning"
}

# They are switched by their controllers, so that it is no drift when they run.
resource "virtcluster_node" "each" {
  for_each           = var.machines
  name               = each.key
  type               = var.node.type
  firmware           = each.value.firmware
  memory_mib         = var.node.memory_mib
  power              = "external"
  running            = false
  root_disk          = { size_gib = var.node.disk_gib, pool = virtcluster_storage_pool.machines.name }
  boot               = { order = each.value.order }
  network_interfaces = [{ bridge = var.network.bridge, mac = each.value.mac }]
  wait_for           = "none"
  shutdown_timeout   = "1s"
}

resource "virtcluster_bmc" "machines" {
  name     = "provisioning"
  address  = var.hypervisor
  password = var.password
  nodes    = { for name, m in var.machines : virtcluster_node.each[name].name => { port = m.port + 1000, ipmi_port = m.port } }
}

output "installed" {
  description = "Which machines are installed."
  value       = { for name, p in virtcluster_boot_profile.each : name => p.installed }
}
