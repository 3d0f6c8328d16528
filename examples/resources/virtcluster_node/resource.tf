resource "virtcluster_network" "management" {
  name = "kimgtnet0"
  mode = "nat"
  cidr = "10.0.0.0/24"
  dhcp = { ranges = [{ start = "10.0.0.210", end = "10.0.0.240" }] }
}

resource "virtcluster_image" "debian" {
  name   = "debian-12.qcow2"
  pool   = "default"
  source = "https://cloud.debian.org/images/cloud/bookworm/latest/debian-12-genericcloud-amd64.qcow2"
}

# A service node: an address by reservation inside, a fixed one outside, and a VIP that it may take over.
resource "virtcluster_node" "service" {
  name       = "okd-service-01"
  role       = "service"
  labels     = { cluster = "okd" }
  memory_mib = 2048
  vcpus      = 2

  # These can be reached without a restart.
  max_memory_mib = 8192
  max_vcpus      = 8

  root_disk = {
    image    = virtcluster_image.debian.id
    size_gib = 20
  }

  disks = {
    exports = { size_gib = 100 }
  }

  network_interfaces = [
    {
      network = virtcluster_network.management.name
      ip      = "10.0.0.100"
    },
    {
      bridge            = "kiextbr0"
      addresses         = ["10.19.41.157/24"]
      gateway           = "10.19.41.254"
      nameservers       = ["10.19.41.1"]
      port_security     = true
      allowed_addresses = ["10.19.41.160"]
    },
  ]

  cloud_init = {
    user_data = <<-EOT
      #cloud-config
      packages: [qemu-guest-agent]
      users:
        - name: admin
          sudo: ALL=(ALL) NOPASSWD:ALL
          ssh_authorized_keys: [ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ0example admin]
    EOT
  }

  wait_for         = "lease"
  shutdown_timeout = "2m"
  timeouts         = { create = "15m" }
}

# A Fedora CoreOS or RHCOS node: UEFI, Ignition from Butane, a console log for when it does not come up.
resource "virtcluster_node" "master" {
  name       = "okd-master-01"
  role       = "master"
  memory_mib = 16384
  vcpus      = 4
  firmware   = "uefi"

  root_disk = {
    image    = "/var/lib/libvirt/images/fedora-coreos.qcow2"
    size_gib = 120
  }

  network_interfaces = [{
    network = virtcluster_network.management.name
    mac     = "52:54:00:aa:6c:b1"
    ip      = "10.0.0.1"
  }]

  butane = <<-EOT
    variant: fcos
    version: 1.5.0
    passwd:
      users:
        - name: core
          ssh_authorized_keys: [ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ0example admin]
  EOT

  console = { log_file = "/var/log/libvirt/qemu/okd-master-01-console.log" }
}

# A machine of metal's likeness: installed from a disc, and switched by its controller (virtcluster_bmc). The disc is changed, and ejected
# by cdrom = {}, while it runs.
resource "virtcluster_image" "installer" {
  name   = "debian-12-netinst.iso"
  pool   = "default"
  source = "https://cdimage.debian.org/cdimage/archive/12.10.0/amd64/iso-cd/debian-12.10.0-amd64-netinst.iso"
}

resource "virtcluster_node" "worker" {
  name       = "okd-worker-01"
  power      = "external"
  memory_mib = 4096
  root_disk  = { size_gib = 40 }
  boot       = { order = ["hd", "cdrom"] }
  cdrom      = { image = virtcluster_image.installer.id }
}

# A node on another hypervisor than the provider's own. A change of hypervisor moves it there while it runs, with its disks: at most
# 200 MiB are sent in a second, and after half an hour it would stay where it is.
resource "virtcluster_node" "movable" {
  name       = "okd-worker-02"
  hypervisor = "kvm2"
  memory_mib = 4096
  root_disk  = { size_gib = 40 }
  migration  = { bandwidth_mib = 200, timeout = "30m" }
  timeouts   = { update = "45m" }
}

# A machine with more of what real ones have. Its database waits for no other disk, and asks no more of the pool than it may; limits
# change while it runs.
resource "virtcluster_node" "database" {
  name       = "okd-database-01"
  memory_mib = 8192
  vcpus      = 4
  firmware   = "uefi"
  tpm        = { model = "tpm-crb" }
  watchdog   = { action = "reset" }
  smbios     = { product = "Database", serial = "DB-0001" }
  console    = { type = "tcp", port = 4555 }
  hugepages  = "2M"

  cpu = {
    topology = { sockets = 1, cores = 4 }
    pinning  = { "0" = "2", "1" = "3", "2" = "4", "3" = "5" }
  }

  filesystems = [{ source = "/srv/backups", target = "backups" }]
  # A card of the hypervisor's, which the guest has to itself.
  host_devices = [{ pci = "0000:03:00.0" }]
  root_disk   = { image = virtcluster_image.debian.id, size_gib = 20 }

  disks = {
    data = {
      size_gib = 200
      cache    = "none"
      io       = "native"
      iothread = 1
      limits   = { total_iops_sec = 5000, write_bytes_sec = 104857600 }
    }
    # A disk of the hypervisor's, which stays when the node goes.
    archive = { volume = "/dev/disk/by-id/ata-ACME_DISK_0042" }
  }

  network_interfaces = [
    { network = virtcluster_network.management.name, bandwidth = { outbound_average_kib = 131072 } },
    # A port of Open vSwitch: VLAN 42 without tags, and two with theirs.
    { bridge = "br-trunk", virtual_port = "openvswitch", vlan = { id = 42, trunk = [10, 20] } },
    # Upon a network card of the hypervisor's, on its network.
    { direct = { device = "eno2" }, trust = true },
  ]

  # What no attribute says.
  xml_patch = {
    "/domain/title"                               = "Database"
    "/domain/devices/interface[1]/driver/@queues" = "4"
  }
}
