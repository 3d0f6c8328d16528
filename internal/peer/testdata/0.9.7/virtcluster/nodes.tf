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
  root_disk          = { volume = "/var/lib/libvirt/images/plain.qcow2" }
  network_interfaces = [{ network = "default" }]
}

# 2. The fixed address was the network's, and is the node's. The CD of cloud-init, SPICE and the screen stay as they are.
resource "virtcluster_node" "web" {
  name               = "web"
  type               = "qemu"
  memory_mib         = 1024
  vcpus              = 2
  root_disk          = { volume = "/srv/cluster/web-root.qcow2" }
  network_interfaces = [{ network = "k8snet", mac = "aa:bb:cc:11:22:22", ip = "10.17.3.10" }]
}

# 3. The key of a disk is its serial number, or its target where it has none. Its title, notes, share, watchdog and VNC for all stay.
resource "virtcluster_node" "db" {
  name           = "db"
  type           = "qemu"
  memory_mib     = 1536
  max_memory_mib = 2048
  vcpus          = 2
  max_vcpus      = 4
  autostart      = true
  cpu            = { mode = "maximum" }
  boot           = { order = ["hd", "network"] }
  root_disk      = { volume = "/srv/data/db-root.qcow2" }
  disks = {
    data = { volume = "/srv/cluster/db-data.qcow2" }
    sda  = { volume = "/srv/data/db-wal.raw", bus = "scsi" }
  }
  network_interfaces = [{ network = "dmz", mac = "52:54:00:00:00:db", mtu = 1400 }]
}

# 4. The console by TCP stays.
resource "virtcluster_node" "router" {
  name      = "router"
  type      = "qemu"
  machine   = "pc"
  root_disk = { volume = "/srv/cluster/router.qcow2" }
  boot      = { order = ["hd", "network"] }
  network_interfaces = [
    { network = "k8snet", mac = "52:54:00:00:00:21", ip = "10.17.3.21" },
    { network = "backnet", mac = "52:54:00:99:00:01", model = "e1000" },
  ]
}

# 5. With an interface by macvtap.
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
  autostart          = true
  root_disk          = { volume = "/srv/cluster/master-${count.index}.qcow2" }
  network_interfaces = [{ network = "k8snet", ip = "10.17.3.1${count.index + 1}", mac = "52:54:00:00:00:a${count.index + 1}" }]
}

# 9 and 10. A kernel of their own, one switched off. Their Ignition has another name than CoreOS's, and stays.
resource "virtcluster_node" "worker" {
  for_each           = local.workers
  name               = "worker-${each.key}"
  type               = "qemu"
  running            = each.value.running
  root_disk          = { volume = "/srv/cluster/worker-${each.key}.qcow2" }
  boot               = { kernel = "/srv/boot/vmlinuz", initrd = "/srv/boot/initrd", cmdline = "console=ttyS0 quiet" }
  network_interfaces = [{ network = "k8snet", ip = each.value.address }]
}

# 11. Defined and not started.
resource "virtcluster_node" "builder" {
  name               = "builder"
  type               = "qemu"
  vcpus              = 2
  running            = false
  firmware           = "uefi"
  cpu                = { mode = "host-passthrough" }
  boot               = { order = ["hd", "network"] }
  root_disk          = { volume = "/srv/cluster/builder.qcow2", bus = "sata" }
  network_interfaces = [{ network = "default", mac = "52:54:00:00:00:cc" }]
}
