variable "name" {
  description = "The cluster's name. Virtual router ids follow from it, and the names of what it has on service nodes begin with it."
  type        = string
}

variable "base_domain" {
  description = "The domain that the cluster's is below: NAME.BASE_DOMAIN."
  type        = string
}

variable "domains" {
  description = "Further domains in which the cluster's names are served, such as the one that it moves to, or moved from."
  type        = list(string)
  default     = []
}

variable "networks" {
  description = "The networks that machines are in, by name. One that is not made (create = false) exists already. Those of mode \"bridge\" have no DHCP of libvirt's: their machines get their addresses by cloud-init. Several hypervisors need a network each, in one subnet."
  type = map(object({
    cidr       = string
    gateway    = optional(string)
    mode       = optional(string, "nat")
    bridge     = optional(string)
    hypervisor = optional(string)
    range      = optional(object({ start = string, end = string }))
    create     = optional(bool, true)
  }))

  validation {
    condition     = length(var.networks) > 0
    error_message = "Machines need a network: write at least one."
  }

  validation {
    condition     = alltrue([for n in values(var.networks) : can(cidrnetmask(n.cidr))])
    error_message = "This module is for IPv4: write the cidr of a network as 10.0.0.0/24."
  }
}

variable "network" {
  description = "The cluster's own among networks: of the inside address, and of machines and service nodes that name none. Default: the first by name. Write it before one is added that comes before that."
  type        = string
  default     = null

  validation {
    condition     = var.network == null || contains(keys(var.networks), coalesce(var.network, "-"))
    error_message = "The cluster's network is one of networks: write its name."
  }
}

variable "hypervisors" {
  description = "What is said of hypervisors, by their names among the provider's; the provider's own is \"\". Machines that are made leave one that is not schedulable, while they run: for the first network by name that is in the same subnet, of mode \"bridge\", on one that is. Its pool and images go with the last network there. With any hypervisor written here, the machines of a role take turns at whatever takes one down."
  type        = map(object({ schedulable = optional(bool, true) }))
  default     = {}

  validation {
    condition = alltrue([for n in values(var.networks) : try(var.hypervisors[n.hypervisor == null ? "" : n.hypervisor].schedulable, true) || length([
      for other in values(var.networks) : other if other.mode == "bridge" && n.mode == "bridge" && other.cidr == n.cidr && try(var.hypervisors[other.hypervisor == null ? "" : other.hypervisor].schedulable, true)
    ]) > 0])
    error_message = "A hypervisor is to be emptied whose machines have nowhere to go: write a network of mode \"bridge\" in the same subnet on one that is schedulable."
  }

  validation {
    condition     = alltrue([for name in keys(var.hypervisors) : contains([for n in values(var.networks) : n.hypervisor == null ? "" : n.hypervisor], name)])
    error_message = "Something is said of a hypervisor that has no network: write the name that one of networks has as its hypervisor, or \"\" for the provider's own."
  }
}

variable "machines" {
  description = "The cluster's machines by name. One that exists already (exists = true) is not made: it gets its reservation by its mac, its names and its place in the load balancing. Without a network it is in the cluster's (network). state = \"drain\" sends it no new connections, so that it can be worked on."
  type = map(object({
    role       = string
    ip         = string
    mac        = optional(string)
    network    = optional(string)
    exists     = optional(bool, false)
    state      = optional(string, "ready")
    memory_mib = optional(number)
    vcpus      = optional(number)
    disk_gib   = optional(number)
    labels     = optional(map(string), {})
    ignition   = optional(string)
    user_data  = optional(string)
  }))

  validation {
    condition     = alltrue([for m in values(var.machines) : contains(["master", "worker", "bootstrap"], m.role)])
    error_message = "A machine's role is \"master\", \"worker\" or \"bootstrap\"."
  }

  validation {
    condition     = alltrue([for m in values(var.machines) : contains(["ready", "drain", "maint"], m.state)])
    error_message = "A machine's state behind the load balancing is \"ready\", \"drain\" or \"maint\"."
  }

  validation {
    condition     = contains([1, 3, 5], length([for m in values(var.machines) : m if m.role == "master"]))
    error_message = "A cluster has 1, 3 or 5 masters: etcd needs an odd number of them."
  }

  validation {
    condition     = length([for m in values(var.machines) : m if m.role == "worker"]) <= 10
    error_message = "This module is for at most 10 workers."
  }

  validation {
    condition     = alltrue([for m in values(var.machines) : !m.exists || m.mac != null])
    error_message = "A machine that exists already is known by its mac: write it."
  }

  validation {
    condition     = length(setsubtract(compact([for m in values(var.machines) : m.network]), keys(var.networks))) == 0
    error_message = "A machine's network is one of networks, and none is called ${join(", ", setsubtract(compact([for m in values(var.machines) : m.network]), keys(var.networks)))}."
  }
}

variable "bootstrap" {
  description = "Whether machines of role bootstrap are there: true to install a cluster, false once it stands."
  type        = bool
  default     = true
}

variable "masters_serve" {
  description = "What each master answers once the cluster stands without its bootstrap, asked by HTTPS from a service node: until it does, bootstrap = false changes and removes nothing. wait = false gives up waiting, in the same apply too: it is for masters that never serve. null: nothing is asked, but what was asked for before is waited for once more."
  type        = object({ port = optional(number, 6443), path = optional(string, "/readyz"), timeout = optional(string, "45m"), wait = optional(bool, true) })
  default     = null
}

variable "node" {
  description = "What machines have unless they say otherwise. image is the path or https URL of an image, or null where image_id names one that is there already."
  type = object({
    type       = optional(string, "kvm")
    memory_mib = optional(number, 16384)
    vcpus      = optional(number, 4)
    disk_gib   = optional(number)
    image      = optional(string)
    image_id   = optional(string)
    checksum   = optional(string)
  })
  default = {}
}

variable "pool" {
  description = "The storage pool of machines that are made, on each hypervisor that has a network. One with a path is made."
  type        = object({ name = string, path = optional(string) })
  default     = { name = "default" }
}

variable "service_nodes" {
  description = "One or two machines with DNS, load balancing and virtual addresses. One that exists already (exists = true) is reached at its ip, or at its endpoint. host_key is its SSH host key or the fingerprint of that; host_key_file is a private key that a machine gets that is made, with FILE.pub beside it."
  type = map(object({
    ip            = string
    external_ip   = optional(string)
    priority      = optional(number, 100)
    mac           = optional(string)
    network       = optional(string)
    exists        = optional(bool, false)
    endpoint      = optional(string)
    host_key      = optional(string)
    host_key_file = optional(string)
  }))

  validation {
    condition     = contains([1, 2], length(var.service_nodes))
    error_message = "There is one service node, or a pair of them."
  }

  validation {
    condition     = length(setsubtract(compact([for s in values(var.service_nodes) : s.network]), keys(var.networks))) == 0
    error_message = "A service node's network is one of networks, and none is called ${join(", ", setsubtract(compact([for s in values(var.service_nodes) : s.network]), keys(var.networks)))}."
  }

  validation {
    condition     = length(setintersection(keys(var.service_nodes), keys(var.machines))) == 0
    error_message = "A name is that of one machine, and ${join(", ", setintersection(keys(var.service_nodes), keys(var.machines)))} is among machines and service_nodes: write another one."
  }

  # The bootstrap's address is free once it went.
  validation {
    condition     = length(setintersection([for s in values(var.service_nodes) : s.ip], [for m in values(var.machines) : m.ip if m.role != "bootstrap" || var.bootstrap])) == 0
    error_message = "An address is that of one machine, and a service node has that of one of machines: write another ip."
  }
}

variable "service" {
  description = "What service nodes have that are made: image, memory and processors, and the public key of who may log in as root. interfaces are the devices inside and outside, and services what they run beside the module's own, of machines that exist already too."
  type = object({
    image      = optional(string)
    image_id   = optional(string)
    checksum   = optional(string)
    memory_mib = optional(number, 1024)
    vcpus      = optional(number, 1)
    public_key = optional(string)
    interfaces = optional(object({ inside = optional(string, "eth0"), outside = optional(string, "eth1") }), {})
    services   = optional(list(string), [])
  })
  default = {}
}

variable "vips" {
  description = "The virtual addresses: inside for machines, outside for everyone else. A pair of service nodes needs one inside; without one, a single service node's own address is meant. Write addresses that are known while planning, and none that another resource has yet to make."
  type        = object({ inside = optional(string), outside = optional(string) })
  default     = {}
}

variable "vrrp" {
  description = "What the virtual addresses say of themselves on each network, as in virtcluster_vip: on one segment with other clusters, a virtual_router_id of their own."
  type = object({
    inside     = optional(object({ virtual_router_id = optional(number) }), {})
    outside    = optional(object({ virtual_router_id = optional(number) }), {})
    version    = optional(number)
    advert_int = optional(number)
    preempt    = optional(bool)
  })
  default = {}
}

variable "vrrp_password" {
  description = "Password of VRRP version 2 between the service nodes, up to 8 characters."
  type        = string
  default     = null
  sensitive   = true
}

variable "haproxy" {
  description = "HAProxy's base on the service nodes, as in virtcluster_haproxy."
  type = object({
    maxconn               = optional(number, 8000)
    options               = optional(set(string), ["dontlognull", "redispatch 1"])
    log                   = optional(string)
    retries               = optional(number)
    stats                 = optional(object({ address = optional(string, "127.0.0.1"), port = optional(number, 9000) }), {})
    extra_config          = optional(string)
    defaults_extra_config = optional(string)
    timeouts = optional(object({
      connect = optional(string, "1s")
      client  = optional(string, "60s")
      server  = optional(string, "60s")
      check   = optional(string, "5s")
      queue   = optional(string)
      tunnel  = optional(string)
    }), {})
  })
  default = {}
}

variable "dns" {
  description = "BIND's base on the service nodes, as in virtcluster_dns_server."
  type = object({
    listen_on         = optional(list(string), ["any"])
    allow_query       = optional(list(string), ["any"])
    dnssec_validation = optional(string, "no")
    options           = optional(map(string))
  })
  default = {}
}

variable "name_servers" {
  description = "Addresses that machines are told to ask for names. Default: the service nodes'. A network of libvirt's starts again when they change: write the inside address (vips.inside), at which names are served too, before another service node is added or one is replaced."
  type        = list(string)
  default     = null

  validation {
    condition     = var.name_servers == null || length(coalesce(var.name_servers, [])) > 0
    error_message = "Machines need a name server: write an address, or leave name_servers out."
  }
}

variable "external" {
  description = "The external LAN, or null for a cluster that is reached from inside only. With interfaces, a bridge of the hypervisor takes them in, and all service nodes that are made are on that one; without, the bridge is there already, on each. On machines that exist already, neither is asked for."
  type = object({
    cidr       = string
    gateway    = optional(string)
    bridge     = optional(string)
    interfaces = optional(list(string), [])
    hypervisor = optional(string)
  })
  default = null

  validation {
    condition     = var.external == null || try(var.external.bridge, null) != null || length(try(var.external.interfaces, [])) == 0 && alltrue([for s in values(var.service_nodes) : s.exists])
    error_message = "Service nodes that are made are on a bridge of the external LAN, and interfaces become one: write its name as external.bridge."
  }
}

variable "inside" {
  description = "Networks that learn the cluster's inside addresses. Default: the machines' networks."
  type        = list(string)
  default     = null
}

variable "forwarders" {
  description = "Name servers that are asked for all other names. Default: the root servers."
  type        = list(string)
  default     = []
}

variable "exposed" {
  description = "Guests' ports that others reach by a service node, beside the load balancing: the arguments of virtcluster_exposed_service by name, with service_node the name of one. type is load_balancer unless external_ip or node_port is written; configure_address = true puts an address on the service node that it does not have by itself or by vips. Their service nodes get nftables."
  type = map(object({
    service_node      = string
    type              = optional(string, "load_balancer")
    address           = optional(string)
    pool              = optional(string)
    interface         = optional(string)
    configure_address = optional(bool)
    masquerade        = optional(bool)
    ports             = map(object({ port = optional(number), target_port = optional(number), protocol = optional(string) }))
    targets           = list(string)
    source_ranges     = optional(list(string))
  }))
  default = {}

  validation {
    condition     = length(setsubtract([for e in values(var.exposed) : e.service_node], keys(var.service_nodes))) == 0
    error_message = "The service node that exposes something is one of service_nodes, and none is called ${join(", ", setsubtract([for e in values(var.exposed) : e.service_node], keys(var.service_nodes)))}."
  }
}

variable "records" {
  description = "Further records of the cluster's zone inside, as those of virtcluster_dns_zone. One that has the name of the module's own, such as etcd-0, is in its place."
  type        = map(map(list(string)))
  default     = {}
}

variable "balanced" {
  description = "Further balanced services: their port, the roles that answer, whether they are offered outside, and the path that a health check asks for by HTTPS, of all servers (default: a connection is enough). One that has the name of the module's own (api, machine-config, ingress-http, ingress-https) is in its place."
  type        = map(object({ port = number, roles = list(string), outside = optional(bool, false), check = optional(string) }))
  default     = {}

  validation {
    condition     = length(setsubtract(flatten([for b in values(var.balanced) : b.roles]), ["master", "worker", "bootstrap", "ingress"])) == 0
    error_message = "The roles that answer are master, worker, bootstrap and ingress (the workers, or the masters where there are none), and not ${join(", ", setsubtract(flatten([for b in values(var.balanced) : b.roles]), ["master", "worker", "bootstrap", "ingress"]))}."
  }
}

variable "pods" {
  description = "The pods' network, for install_config and kubeadm."
  type        = object({ cidr = optional(string, "10.128.0.0/14"), host_prefix = optional(number, 23), services = optional(string, "172.30.0.0/16") })
  default     = {}
}
