variable "cluster" {
  description = "Name of the cluster."
  type        = string
  default     = "ocp4"
}

variable "machines" {
  description = "Machines that share the addresses: name to address."
  type        = map(string)
  default     = { "okd-service-01" = "10.0.0.100", "okd-service-02" = "10.0.0.101" }
}

variable "host_keys" {
  description = "The machines' SSH host keys by name, as fingerprints or public keys: on a machine, `ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub` prints the fingerprint. Recommended: nobody else can then answer in a machine's place, and the whole plan is known. Without one, the key of known_hosts is taken, or the one that a machine shows first."
  type        = map(string)
  default     = {}
}

variable "interface" {
  description = "The machines' network device in the cluster's network."
  type        = string
  default     = "eth0"
}

variable "api_vip" {
  description = "Virtual address of the API."
  type        = string
  default     = "10.0.0.250"
}

variable "balancer_port" {
  description = "Port of the machine's own load balancer before the API servers: 9445 in OpenShift, 50936 in its first releases."
  type        = number
  default     = 9445
}

variable "ingress_vip" {
  description = "Virtual address of the router, *.apps."
  type        = string
  default     = "10.0.0.251"
}

variable "prefix_length" {
  description = "Prefix length of the cluster's network."
  type        = number
  default     = 24
}

variable "ssh_private_key_file" {
  description = "Private key for root on the machines."
  type        = string
  default     = "~/.ssh/id_ed25519"
}
