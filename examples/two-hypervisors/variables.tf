terraform {
  required_version = ">= 1.8"

  required_providers {
    virtcluster = { source = "virtcluster/virtcluster" }
  }
}

variable "key" {
  description = "Private key for root on the hypervisors and the service nodes; its public half is FILE.pub."
  type        = string
}

variable "hypervisors" {
  description = <<-EOT
    Machines with libvirt, by name. Each has a bridge br-ex of Open vSwitch with its cable to the LAN in it. One that is lost for good is marked so,
    once the machines of it are on another one in `machines`.
  EOT
  type        = map(object({ address = string, tunnel_ip = string, lost = optional(bool, false) }))
}

variable "central" {
  description = "The hypervisor with OVN's databases. Default: the first one by name. Write it before one is added that comes before that."
  type        = string
  default     = null
}

variable "gateways" {
  description = "Further machines with such a bridge that run nothing but a way out: with one, three know when one of them is dead. They go before the hypervisors."
  type        = map(object({ address = string, tunnel_ip = string }))
  default     = {}
}

variable "failover" {
  description = "How fast chassis notice that the way out is dead, such as { interval_ms = 200, multiplier = 3 } where they are never late by half a second. Default: OVN's own."
  type        = object({ interval_ms = number, multiplier = number })
  default     = null
}

variable "datapath" {
  description = "\"userspace\" where the kernel has no module of Open vSwitch."
  type        = string
  default     = "system"
}

variable "underlay_mtu" {
  description = "Largest packet that the underlay carries. Default: looked up."
  type        = number
  default     = null
}

variable "network" {
  description = "The machines' own network; source is an address of it by which the load balancer asks who lives."
  type        = object({ cidr = string, gateway = string, source = string })
  default     = { cidr = "10.50.0.0/24", gateway = "10.50.0.1", source = "10.50.0.250" }
}

variable "lan" {
  description = "The LAN: the router's own address with its length, its gateway, the addresses of the API and of ingress."
  type        = object({ router = string, gateway = string, api = string, ingress = string })
}

variable "vip" {
  description = "Virtual address of the API in the machines' own network, and how often, in seconds, its holder says that it lives."
  type        = object({ address = string, advert_int = optional(number, 1) })
  default     = { address = "10.50.0.10" }
}

variable "machines" {
  description = "Masters and workers, and which hypervisor each is on. With another one it moves there while it runs, or is made anew where its own is lost."
  type        = map(object({ role = string, hypervisor = string, ip = string }))
}

variable "service_nodes" {
  description = <<-EOT
    A pair of machines with the virtual address, each with an address of the LAN by which it is configured. host_key_file is the SSH host key that
    it gets and is known by, with FILE.pub beside it.
  EOT
  type        = map(object({ hypervisor = string, ip = string, outside = string, priority = number, host_key_file = string }))
}

variable "images" {
  description = "Images of masters and workers, and of the service nodes (Debian with cloud-init): paths or https URLs."
  type        = object({ cluster = string, service = string })
}

variable "node" {
  description = "Size and type of machines: type = \"qemu\" on hypervisors without hardware virtualisation."
  type        = object({ type = optional(string, "kvm"), memory_mib = optional(number, 4096), service_memory_mib = optional(number, 1024), vcpus = optional(number, 2) })
  default     = {}
}
