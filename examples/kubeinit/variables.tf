terraform {
  required_version = ">= 1.9"

  required_providers {
    virtcluster = { source = "virtcluster/virtcluster" }
  }
}

variable "uri" {
  description = "The hypervisor, such as qemu+ssh://root@kvm1.example/system. null: that of $LIBVIRT_DEFAULT_URI, or else of the machine that Terraform runs on."
  type        = string
  default     = null
}

variable "key" {
  description = "Private key for root on the service nodes, and on a hypervisor that is reached by SSH; its public half is FILE.pub."
  type        = string
}

variable "images" {
  description = "Images of the cluster's machines, and of the service nodes (Debian with cloud-init): paths or https URLs."
  type        = object({ cluster = string, service = string })
}

variable "checksums" {
  description = "Sums of the images as sha256:… or sha512:…, by which a download is checked."
  type        = object({ cluster = optional(string), service = optional(string) })
  default     = {}
}

variable "host_keys" {
  description = "SSH host keys that the service nodes get and are known by: two files as `ssh-keygen -q -t ed25519 -N '' -f FILE` makes them."
  type        = list(string)
}

variable "node" {
  description = "Size and type of machines: type = \"qemu\" on a hypervisor without hardware virtualisation."
  type        = object({ type = optional(string, "kvm"), memory_mib = optional(number, 16384), vcpus = optional(number, 4) })
  default     = {}
}

variable "masters_serve" {
  description = "What each master answers once it serves by itself, as in the module: {} has bootstrap = false wait for that. null: for machines that install nothing."
  type        = object({ port = optional(number, 6443), path = optional(string, "/readyz"), timeout = optional(string, "45m"), wait = optional(bool, true) })
  default     = null
}

variable "bootstrap" {
  description = "Whether the bootstrap is there: true to install a cluster, false once it stands."
  type        = bool
  default     = true
}
