variable "uri" {
  description = "libvirt URI of the hypervisor."
  type        = string
  default     = "qemu:///system"
}

variable "domain" {
  description = "The cluster's DNS domain."
  type        = string
  default     = "okd.example"
}

variable "node_type" {
  description = "\"kvm\", or \"qemu\" on a hypervisor without hardware virtualisation."
  type        = string
  default     = "kvm"
}

variable "cluster_image" {
  description = "Image of masters, workers and bootstrap: path or https URL."
  type        = string
}

variable "service_image" {
  description = "Debian image with cloud-init for the service nodes: path or https URL."
  type        = string
}

variable "ssh_private_key_file" {
  description = "Private key for root on the service nodes; its public half is FILE.pub."
  type        = string
}

variable "service_host_key_files" {
  description = "SSH host keys that the service nodes get and are known by: private keys by the node's name; the public half is FILE.pub. `ssh-keygen -q -t ed25519 -N '' -f FILE` makes one. Recommended: nobody else can then answer in a machine's place, and the whole plan is known. Without one, the key that a machine shows first is pinned."
  type        = map(string)
  default     = {}
}

variable "bootstrap" {
  description = "Whether the bootstrap node exists: true to install a cluster, false once it stands."
  type        = bool
  default     = true
}

variable "masters" {
  description = "Masters by name."
  type        = map(object({ mac = string, ip = string }))
  default = {
    okd-master-01 = { mac = "52:54:00:aa:6c:b1", ip = "10.0.0.1" }
    okd-master-02 = { mac = "52:54:00:59:0e:e4", ip = "10.0.0.2" }
    okd-master-03 = { mac = "52:54:00:b4:39:45", ip = "10.0.0.3" }
  }
}

variable "workers" {
  description = "Workers by name."
  type        = map(object({ mac = string, ip = string }))
  default = {
    okd-worker-01 = { mac = "52:54:00:61:22:5a", ip = "10.0.0.4" }
    okd-worker-02 = { mac = "52:54:00:21:fd:fd", ip = "10.0.0.5" }
  }
}

variable "services" {
  description = "Service nodes by name: DNS, load balancing and the virtual addresses run here."
  type        = map(object({ mac = optional(string), ip = string, external_ip = string, priority = number }))
  default = {
    okd-service-01 = { mac = "52:54:00:f2:46:a7", ip = "10.0.0.100", external_ip = "10.19.41.157", priority = 110 }
    okd-service-02 = { ip = "10.0.0.101", external_ip = "10.19.41.158", priority = 100 }
  }
}

variable "external" {
  description = "The external LAN: the hypervisor's interface on it, and its gateway."
  type        = object({ interface = string, gateway = string })
  default     = { interface = "eno1", gateway = "10.19.41.254" }
}

variable "vips" {
  description = "The virtual addresses: inside for nodes, outside for everyone else."
  type        = object({ inside = string, outside = string })
  default     = { inside = "10.0.0.250", outside = "10.19.41.160" }
}
