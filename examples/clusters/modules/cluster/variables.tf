variable "name" {
  description = "The cluster's name: it is in the names of all that it makes."
  type        = string
}

variable "base_domain" {
  description = "The domain that the cluster's is below: NAME.BASE_DOMAIN."
  type        = string
}

variable "machines" {
  description = "The service machines: output machines of the module machines."
  type = map(object({
    service_node = string
    views        = object({ internal = string, external = string })
    address      = string
    outside      = string
    priority     = number
  }))
}

variable "interfaces" {
  description = "The service machines' network devices inside and outside."
  type        = object({ inside = string, outside = string })
  default     = { inside = "eth0", outside = "eth1" }
}

variable "vips" {
  description = "The cluster's virtual addresses: inside for nodes, outside for everyone else."
  type        = object({ inside = string, outside = string })
}

variable "network" {
  description = "Name of the virtcluster_network that the nodes are in, with DHCP."
  type        = string
}

variable "cidr" {
  description = "That network's subnet, which no other cluster on the same machines is in: they serve its reverse zone."
  type        = string
}

variable "masters" {
  description = "Addresses of the masters by name."
  type        = map(string)
}

variable "workers" {
  description = "Addresses of the workers by name."
  type        = map(string)
  default     = {}
}

variable "node" {
  description = "What nodes are made of: id of a virtcluster_image and its pool, \"kvm\" or \"qemu\", memory and processors."
  type = object({
    image      = string
    pool       = string
    type       = optional(string, "kvm")
    memory_mib = optional(number, 192)
    vcpus      = optional(number, 1)
  })
}
