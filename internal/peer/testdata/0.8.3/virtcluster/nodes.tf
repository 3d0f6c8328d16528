locals {
  masters = 2
  workers = {
    blue  = { address = "10.17.3.31", running = true }
    green = { address = "10.17.3.32", running = false }
  }
}

# 1. As little as boots.
resource "virtcluster_node" "plain" {
  name               = "plain"
  type               = "qemu"
  root_disk          = { volume = "/var/lib/libvirt/images/plain-root" }
  network_interfaces = [{ network = "default" }]
}

# 2. The CD of cloud-init, the second console and SPICE stay as they are.
resource "virtcluster_node" "web" {
  name               = "web"
  type               = "qemu"
  memory_mib         = 1024
  vcpus              = 2
  root_disk          = { volume = "/srv/cluster/web-root.qcow2" }
  network_interfaces = [{ network = "k8snet", mac = "aa:bb:cc:11:22:22", ip = "10.17.3.10" }]
}

# 3. Further disks go by their targets, as 0.8 gives them no serial numbers.
resource "virtcluster_node" "db" {
  name      = "db"
  type      = "qemu"
  autostart = true
  cpu       = { mode = "maximum" }
  root_disk = { volume = "/srv/legacy/db-root.qcow2" }
  disks = {
    vdb = { volume = "/srv/cluster/db-data.qcow2" }
    sda = { volume = "/srv/legacy/db-wal.raw", bus = "scsi" }
  }
  network_interfaces = [{ network = "dmz", ip = "10.98.0.73" }]
}

# 4. The console by TCP stays.
resource "virtcluster_node" "router" {
  name      = "router"
  type      = "qemu"
  machine   = "pc"
  root_disk = { volume = "/srv/cluster/router.qcow2" }
  boot      = { order = ["hd", "network"] }
  network_interfaces = [
    { network = "k8snet", ip = "10.17.3.21" },
    { network = "backnet", mac = "52:54:00:99:00:01" },
  ]
}

# 5. The CD stays, and is nobody's attribute.
resource "virtcluster_node" "bridged" {
  name      = "bridged"
  type      = "qemu"
  root_disk = { volume = "/srv/cluster/bridged.qcow2" }
  network_interfaces = [
    { bridge = "br0", mac = "52:54:00:b1:d9:ed" },
    { direct = { device = "eno1" } },
    { network = "lan" },
  ]
}

# 6. UEFI by the paths of its files.
resource "virtcluster_node" "uefi" {
  name               = "uefi"
  type               = "qemu"
  machine            = "q35"
  firmware           = "uefi"
  root_disk          = { volume = "/srv/cluster/uefi.qcow2" }
  network_interfaces = [{ network = "default" }]
}

# 7 and 8. Their Ignition is an argument of QEMU's, and stays.
resource "virtcluster_node" "master" {
  count              = local.masters
  name               = "master-${count.index}"
  type               = "qemu"
  vcpus              = 2
  root_disk          = { volume = "/srv/cluster/master-${count.index}.qcow2" }
  network_interfaces = [{ network = "k8snet", ip = "10.17.3.1${count.index + 1}", mac = "52:54:00:00:00:a${count.index + 1}" }]
}

# 9 and 10. A kernel of their own, one switched off.
resource "virtcluster_node" "worker" {
  for_each           = local.workers
  name               = "worker-${each.key}"
  type               = "qemu"
  running            = each.value.running
  root_disk          = { volume = "/srv/cluster/worker-${each.key}.qcow2" }
  boot               = { kernel = "/srv/boot/vmlinuz", initrd = "/srv/boot/initrd", cmdline = "console=ttyS0 quiet" }
  network_interfaces = [{ network = "k8snet", ip = each.value.address }]
}
