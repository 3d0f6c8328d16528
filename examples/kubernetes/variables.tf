terraform {
  required_version = ">= 1.9"

  required_providers {
    virtcluster = { source = "virtcluster/virtcluster" }
  }
}

variable "key" {
  description = "Private key for root on all machines; its public half is FILE.pub."
  type        = string
}

variable "network" {
  description = "The bridge that all machines are on, and its network. Machines that are made get their addresses by cloud-init."
  type        = object({ name = string, bridge = string, cidr = string, gateway = string })
}

variable "external" {
  description = "The LAN that the API is reached from."
  type        = object({ cidr = string, gateway = optional(string) })
}

variable "vips" {
  description = "Virtual addresses of the API: for the machines, and for the LAN."
  type        = object({ inside = string, outside = string })
}

variable "service_nodes" {
  description = "A pair of machines that exist, for DNS, load balancing and the virtual addresses."
  type        = map(object({ ip = string, external_ip = string, priority = number }))
}

variable "masters" {
  description = "Three machines that exist already, for etcd and the control plane."
  type        = map(object({ ip = string, mac = string }))
}

variable "workers" {
  description = "Machines that are made, by name. host_key_file is the SSH host key that it gets and is known by, with FILE.pub beside it."
  type        = map(object({ ip = string, host_key_file = string }))
}

variable "bootstrap" {
  description = "A machine that exists already and has an API server until the masters' serve, or none."
  type        = map(object({ ip = string, mac = string }))
  default     = {}
}

variable "node" {
  description = "Size and type of the workers, and their image, Debian with cloud-init: type = \"qemu\" on a hypervisor without hardware virtualisation."
  type        = object({ image = string, type = optional(string, "kvm"), memory_mib = optional(number, 4096), vcpus = optional(number, 2), disk_gib = optional(number, 8) })
}

variable "pods" {
  description = "The pod network, the prefix length of each worker's part of it, and the network of services."
  type        = object({ cidr = string, host_prefix = number, services = string })
  default     = { cidr = "10.200.0.0/16", host_prefix = 24, services = "10.96.0.0/16" }
}

variable "pool_path" {
  description = "Directory of the workers' disks."
  type        = string
  default     = "/var/lib/libvirt/kubernetes"
}
