terraform {
  required_version = ">= 1.9"

  required_providers {
    virtcluster = { source = "virtcluster/virtcluster" }
  }
}

variable "key" {
  description = "Private key for root on the service nodes; its public half, FILE.pub, is who may log in to the cluster's machines too."
  type        = string
}

variable "pull_secret" {
  description = "What images of the release are pulled with. OKD's are public, and this says nothing."
  type        = string
  default     = "{\"auths\":{\"fake\":{\"auth\":\"Zm9vOmJhcg==\"}}}"
  sensitive   = true
}

variable "network" {
  description = "The machines' network."
  type        = object({ name = string, cidr = string, gateway = string, mode = optional(string, "nat"), bridge = optional(string), range = optional(object({ start = string, end = string })) })
  default     = { name = "okd", cidr = "10.0.0.0/24", gateway = "10.0.0.254", bridge = "okdbr0", range = { start = "10.0.0.210", end = "10.0.0.240" } }
}

variable "external" {
  description = "The LAN that the cluster is reached from, and the hypervisor's interfaces in it."
  type        = object({ cidr = string, gateway = optional(string), bridge = optional(string), interfaces = optional(list(string), []) })
  default     = { cidr = "10.19.41.0/24", gateway = "10.19.41.254", bridge = "okdextbr0", interfaces = ["eno1"] }
}

variable "vips" {
  description = "Virtual addresses of API and ingress: for machines, and for the LAN."
  type        = object({ inside = string, outside = string })
  default     = { inside = "10.0.0.250", outside = "10.19.41.160" }
}

variable "machines" {
  description = "The cluster's machines by the names that they have in DNS. One with exists = true is there already."
  type        = map(object({ role = string, ip = string, mac = optional(string), exists = optional(bool, false) }))
  default = {
    bootstrap = { role = "bootstrap", ip = "10.0.0.200" }
    master0   = { role = "master", ip = "10.0.0.1" }
    master1   = { role = "master", ip = "10.0.0.2" }
    master2   = { role = "master", ip = "10.0.0.3" }
    worker0   = { role = "worker", ip = "10.0.0.4" }
    worker1   = { role = "worker", ip = "10.0.0.5" }
  }
}

variable "bootstrap" {
  description = "Whether the bootstrap is there: true to install the cluster, false once `openshift-install wait-for bootstrap-complete` says so."
  type        = bool
  default     = true
}

variable "masters_serve" {
  description = "What each master answers once it serves by itself. Until all of them do, bootstrap = false changes and removes nothing; wait = false gives up waiting."
  type        = object({ port = optional(number, 6443), path = optional(string, "/readyz"), timeout = optional(string, "45m"), wait = optional(bool, true) })
  default     = {}
}

variable "service_nodes" {
  description = "A pair of service nodes. host_key_file is the SSH host key that one gets and is known by; exists = true is for a machine that is there already."
  type        = map(object({ ip = string, external_ip = string, priority = number, exists = optional(bool, false), host_key_file = optional(string) }))
}

variable "node" {
  description = "Image (Fedora CoreOS or CentOS Stream CoreOS), size and type of the machines."
  type        = object({ image = string, type = optional(string, "kvm"), memory_mib = optional(number, 16384), vcpus = optional(number, 4), disk_gib = optional(number, 120) })
}

variable "service" {
  description = "Image of service nodes that are made (Debian with cloud-init)."
  type        = object({ image = optional(string) })
  default     = {}
}

variable "served" {
  description = "Directory of files that machines and people fetch from each service node by HTTP, at port 8080 below /files: images of the operating system, tools of the release. Null for none."
  type        = string
  default     = null
}

variable "registry" {
  description = "A registry on each service node, for an installation without the internet: files with the certificate for the service nodes' names and its key, and what it is a mirror of, where nothing is to be pushed to it. Null for none."
  type        = object({ certificate_file = string, key_file = string, port = optional(number, 5000), mirror_of = optional(string), releases = optional(list(string), ["quay.io/okd/scos-release", "quay.io/okd/scos-content"]) })
  default     = null
}

variable "ignition" {
  description = "What `openshift-install create ignition-configs` wrote, by role: the texts of bootstrap.ign, master.ign and worker.ign. Empty before that, when install-config.yaml is asked for."
  type        = map(string)
  default     = {}
  sensitive   = true
}

variable "rendezvous_master" {
  description = "The master where an agent-based installation begins, which needs no bootstrap. Default: the first one by name."
  type        = string
  default     = null
}
