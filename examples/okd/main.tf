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

  # Machines keep the service nodes' time, from their first boot on.
  chrony = join("\n", concat([for s in values(var.service_nodes) : "server ${s.ip} iburst"], ["driftfile /var/lib/chrony/drift", "makestep 1.0 3", "rtcsync", ""]))

  # What the role's Ignition says, and the machine's own name. It is no secret here, so that it can be told by machine; the machine's
  # attribute is one.
  ignition = { for name, m in var.machines : name => provider::virtcluster::ignition_merge(
    nonsensitive(lookup(var.ignition, m.role, jsonencode({ ignition = { version = "3.2.0" } }))),
    jsonencode({
      ignition = { version = "3.2.0" }
      storage = { files = [
        { path = "/etc/hostname", mode = 420, overwrite = true, contents = { source = "data:,${name}.${local.domain}" } },
        { path = "/etc/chrony.conf", mode = 420, overwrite = true, contents = { source = "data:;base64,${base64encode(local.chrony)}" } },
      ] }
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
  service       = merge(var.service, { public_key = trimspace(file("${var.key}.pub")), services = concat(["chrony"], [for r in [var.registry] : "registry" if r != null]) })
  service_nodes = var.service_nodes
  machines      = { for name, m in var.machines : name => merge(m, { ignition = lookup(local.ignition, name, null) }) }

  # The API's servers say on /readyz whether they take requests, the router's on /healthz/ready of another port. Machine configuration
  # is offered inside only.
  balanced = {
    api            = { port = 6443, roles = ["master", "bootstrap"], outside = true, check = "/readyz" }
    machine-config = { port = 22623, roles = ["master", "bootstrap"], check = "/healthz" }
  }
}

# The rest of what a helper machine does, on each of the pair, so that either is enough. They ask each other for the time where nobody else answers.
resource "virtcluster_time_server" "each" {
  for_each     = var.service_nodes
  service_node = module.okd.service_nodes[each.key]
  clients      = [var.network.cidr]
  upstreams    = [for name, s in var.service_nodes : s.ip if name != each.key]
}

resource "virtcluster_http_content" "files" {
  for_each     = { for name, s in var.service_nodes : name => s if var.served != null }
  service_node = module.okd.service_nodes[each.key]
  listen       = "${each.value.ip}:8080"
  path         = "/files"
  directory    = var.served
}

resource "virtcluster_registry" "each" {
  for_each     = { for name, s in var.service_nodes : name => s if var.registry != null }
  service_node = module.okd.service_nodes[each.key]
  address      = each.value.ip
  port         = var.registry.port
  mirror_of    = var.registry.mirror_of
  tls          = { certificate = file(var.registry.certificate_file), key = file(var.registry.key_file) }
}

locals {
  install_config = merge(module.okd.install_config, {
    pullSecret = var.pull_secret
    sshKey     = trimspace(file("${var.key}.pub"))
    }, [for r in [var.registry] : {
      additionalTrustBundle       = file(r.certificate_file)
      additionalTrustBundlePolicy = "Always"
      imageDigestSources = [for release in r.releases : {
        source  = release
        mirrors = [for name in keys(var.service_nodes) : "${name}.${local.domain}:${r.port}/${split("/", release)[1]}/${split("/", release)[2]}"]
      }]
  } if r != null]...)
}

output "install_config" {
  description = "install-config.yaml for `openshift-install create ignition-configs`, and for the agent-based installer."
  value       = provider::virtcluster::install_config(local.install_config)
  sensitive   = true
}

output "agent_config" {
  description = "agent-config.yaml for `openshift-install agent create image`."
  value = provider::virtcluster::agent_config(merge(
    module.okd.agent_config,
    { additionalNTPSources = [for s in values(var.service_nodes) : s.ip] },
    { for name in compact([var.rendezvous_master]) : "rendezvousIP" => var.machines[name].ip },
  ))
}

output "cluster" {
  description = "What `check` reads."
  value = {
    domain        = local.domain
    vips          = var.vips
    service_nodes = { for name, s in var.service_nodes : name => { inside = s.ip, outside = s.external_ip } }
    machines      = { for name, m in var.machines : name => m.ip if m.role != "bootstrap" || var.bootstrap }
    files         = [for c in virtcluster_http_content.files : c.url]
    registries    = [for name in keys(virtcluster_registry.each) : "${name}.${local.domain}:${var.registry.port}"]
  }
}
