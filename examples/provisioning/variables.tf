terraform {
  required_version = ">= 1.5"

  required_providers {
    virtcluster = { source = "virtcluster/virtcluster" }
  }
}

variable "key" {
  description = "Private key for root on the hypervisor and the service nodes."
  type        = string
}

variable "hypervisor" {
  description = "Address of the hypervisor, which keeps the files that machines are installed from, and the machines' controllers."
  type        = string
  default     = "10.0.0.1"
}

variable "service_nodes" {
  description = "The two machines that others boot from, by their addresses: the first one answers while both run."
  type        = object({ first = string, second = string })
  default     = { first = "10.0.0.100", second = "10.0.0.101" }
}

variable "network" {
  description = "The machines' network: the hypervisor's bridge, and the service nodes' interface on it."
  type        = object({ bridge = string, interface = string, cidr = string })
  default     = { bridge = "br0", interface = "eth0", cidr = "10.0.0.0/24" }
}

variable "installer" {
  description = "Directory with what installs machines: kernel, initrd, and disk.img, which is written to their disks."
  type        = string
}

variable "machines" {
  description = "Machines without an image, by name. firmware is bios or uefi, and order what is booted first: UEFI that asks the network first tries all of its ways before it comes to the disk."
  type        = map(object({ mac = string, ip = string, firmware = string, order = list(string), port = number }))
  default = {
    worker0 = { mac = "52:54:00:b0:07:01", ip = "10.0.0.151", firmware = "bios", order = ["network", "hd"], port = 6231 }
    worker1 = { mac = "52:54:00:b0:07:02", ip = "10.0.0.152", firmware = "uefi", order = ["hd", "network"], port = 6232 }
  }
}

variable "node" {
  description = "What all machines have. type is kvm where the processor helps, otherwise qemu."
  type        = object({ type = optional(string, "kvm"), memory_mib = optional(number, 2048), disk_gib = optional(number, 20) })
  default     = {}
}

variable "password" {
  description = "Password of the controllers' user admin."
  type        = string
  sensitive   = true
}
