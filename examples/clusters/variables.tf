variable "uri" {
  description = "libvirt URI of the hypervisor."
  type        = string
  default     = "qemu:///system"
}

variable "ssh_private_key_file" {
  description = "Private key for root on the service machines."
  type        = string
}

variable "node_image" {
  description = "Image of the clusters' nodes: path or https URL."
  type        = string
}

variable "node_type" {
  description = "\"kvm\", or \"qemu\" on a hypervisor without hardware virtualisation."
  type        = string
  default     = "kvm"
}

variable "base_domain" {
  description = "The domain that the clusters' are below."
  type        = string
  default     = "example"
}

variable "hypervisor" {
  description = "The hypervisor's address in the service machines' network."
  type        = string
  default     = "10.0.100.254"
}

variable "outside" {
  description = "The network outside."
  type        = string
  default     = "10.19.41.0/24"
}

variable "machines" {
  description = "The service machines by name. host_key is the SSH host key, recommended: on the machine, `ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub` prints its fingerprint."
  type        = map(object({ address = string, outside = string, priority = number, host_key = optional(string) }))
  default = {
    svc-1 = { address = "10.0.100.101", outside = "10.19.41.101", priority = 200 }
    svc-2 = { address = "10.0.100.102", outside = "10.19.41.102", priority = 190 }
  }
}

variable "clusters" {
  description = "The clusters by name."
  type = map(object({
    cidr    = string
    vips    = object({ inside = string, outside = string })
    masters = map(string)
    workers = optional(map(string), {})
  }))
  default = {
    blue = {
      cidr    = "10.60.0.0/24"
      vips    = { inside = "10.0.100.240", outside = "10.19.41.240" }
      masters = { master-1 = "10.60.0.11", master-2 = "10.60.0.12", master-3 = "10.60.0.13" }
      workers = { worker-1 = "10.60.0.21" }
    }
    green = {
      cidr    = "10.61.0.0/24"
      vips    = { inside = "10.0.100.241", outside = "10.19.41.241" }
      masters = { master-1 = "10.61.0.11", master-2 = "10.61.0.12", master-3 = "10.61.0.13" }
    }
  }
}
