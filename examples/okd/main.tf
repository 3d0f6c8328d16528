# What OpenShift's installers ask of whoever provides the infrastructure: machines with Ignition, names, pointers, load balancing and
# virtual addresses. `check` asks all that the installation's documentation tells people to verify.
# `make demo-okd` runs it.
provider "virtcluster" {
  ssh = { private_key_file = var.key }
}

locals {
  name   = "okd"
  base   = "example"
  domain = "${local.name}.${local.base}"

  # What the role's Ignition says, and the machine's own name. It is no secret here, so that it can be told by machine; the machine's
  # attribute is one.
  ignition = { for name, m in var.machines : name => provider::virtcluster::ignition_merge(
    nonsensitive(lookup(var.ignition, m.role, jsonencode({ ignition = { version = "3.2.0" } }))),
    jsonencode({
      ignition = { version = "3.2.0" }
      storage  = { files = [{ path = "/etc/hostname", mode = 420, overwrite = true, contents = { source = "data:,${name}.${local.domain}" } }] }
    }),
  ) if !m.exists }
}

module "okd" {
  source = "../modules/multi-master"

  name          = local.name
  base_domain   = local.base
  bootstrap     = var.bootstrap
  masters_serve = var.masters_serve
  networks      = { (var.network.name) = { cidr = var.network.cidr, gateway = var.network.gateway, mode = var.network.mode, bridge = var.network.bridge, range = var.network.range } }
  external      = var.external
  vips          = var.vips
  pool          = { name = "okd", path = "/var/lib/libvirt/okd" }
  node          = var.node
  service       = merge(var.service, { public_key = trimspace(file("${var.key}.pub")) })
  service_nodes = var.service_nodes
  machines      = { for name, m in var.machines : name => merge(m, { ignition = lookup(local.ignition, name, null) }) }

  # The API's servers say on /readyz whether they take requests, the router's on /healthz/ready of another port. Machine configuration
  # is offered inside only.
  balanced = {
    api            = { port = 6443, roles = ["master", "bootstrap"], outside = true, check = "/readyz" }
    machine-config = { port = 22623, roles = ["master", "bootstrap"], check = "/healthz" }
  }
}

locals {
  install_config = merge(module.okd.install_config, {
    pullSecret = var.pull_secret
    sshKey     = trimspace(file("${var.key}.pub"))
  })
}

output "install_config" {
  description = "install-config.yaml for `openshift-install create ignition-configs`, and for the agent-based installer."
  value       = provider::virtcluster::install_config(local.install_config)
  sensitive   = true
}

output "agent_config" {
  description = "agent-config.yaml for `openshift-install agent create image`."
  value       = provider::virtcluster::agent_config(merge(module.okd.agent_config, { rendezvousIP = var.machines[var.rendezvous_master].ip }))
}

output "cluster" {
  description = "What `check` reads."
  value = {
    domain        = local.domain
    vips          = var.vips
    service_nodes = { for name, s in var.service_nodes : name => { inside = s.ip, outside = s.external_ip } }
    machines      = { for name, m in var.machines : name => m.ip if m.role != "bootstrap" || var.bootstrap }
  }
}
