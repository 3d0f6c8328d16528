# Kubernetes the hard way: a control plane on three machines that exist already, workers that are made, names, load balancing and
# virtual addresses from a pair of service nodes. What Terraform does not do, the programs, their certificates and units, `install` does.
# `make demo-kubernetes` runs it.
provider "virtcluster" {
  ssh = { private_key_file = var.key }
}

locals {
  name   = "k8s"
  base   = "example"
  domain = "${local.name}.${local.base}"
}

module "cluster" {
  source = "../modules/multi-master"

  name          = local.name
  base_domain   = local.base
  networks      = { (var.network.name) = { mode = "bridge", bridge = var.network.bridge, cidr = var.network.cidr, gateway = var.network.gateway } }
  external      = var.external
  vips          = var.vips
  service_nodes = { for name, s in var.service_nodes : name => merge(s, { exists = true }) }
  pool          = { name = local.name, path = var.pool_path }
  node          = var.node
  pods          = { cidr = var.pods.cidr, host_prefix = var.pods.host_prefix, services = var.pods.services }

  machines = merge(
    { for name, m in var.masters : name => { role = "master", ip = m.ip, mac = m.mac, exists = true } },
    { for name, m in var.bootstrap : name => { role = "bootstrap", ip = m.ip, mac = m.mac, exists = true } },
    { for name, w in var.workers : name => { role = "worker", ip = w.ip, user_data = local.user_data[name] } },
  )

  # An API server that stops says so on /readyz first, and gets no new connections from then on.
  balanced = { api = { port = 6443, roles = ["master", "bootstrap"], outside = true, check = "/readyz" } }
}

locals {
  user_data = { for name, w in var.workers : name => join("\n", ["#cloud-config", yamlencode({
    disable_root = false
    users        = [{ name = "root", ssh_authorized_keys = [trimspace(file("${var.key}.pub"))] }]
    ssh_keys     = { ed25519_private = sensitive(file(w.host_key_file)), ed25519_public = file("${w.host_key_file}.pub") }
  })]) }
}

# Which worker has which pods is known before anything is made, and stays when others come and go.
resource "virtcluster_pod_network" "pods" {
  cidr        = var.pods.cidr
  host_prefix = var.pods.host_prefix
  nodes       = { for name, w in var.workers : name => w.ip }
}

# A worker that was made answers after its first boot.
resource "virtcluster_readiness" "worker" {
  for_each = var.workers

  tcp      = "${each.value.ip}:22"
  timeout  = "15m"
  triggers = { mac = module.cluster.machines[each.key].mac }
}

locals {
  routers = merge({ for name, m in var.masters : name => m.ip }, { for name, w in var.workers : name => w.ip })
}

# Masters and workers reach the pods of every worker.
resource "virtcluster_route" "pods" {
  for_each = merge([for on, ip in local.routers : {
    for worker, cidr in virtcluster_pod_network.pods.pod_cidrs : "${on} to ${worker}" => { on = ip, cidr = cidr, via = var.workers[worker].ip } if worker != on
  }]...)

  host = "ssh://root@${each.value.on}"
  cidr = each.value.cidr
  via  = each.value.via

  depends_on = [virtcluster_readiness.worker]
}

output "cluster" {
  description = "What `install` reads."
  value = {
    domain      = local.domain
    vips        = var.vips
    services    = var.pods.services
    pods        = var.pods.cidr
    resolv_conf = module.cluster.resolv_conf
    machines = merge(
      { for name, m in var.masters : name => { role = "master", ip = m.ip, pods = null } },
      { for name, m in var.bootstrap : name => { role = "bootstrap", ip = m.ip, pods = null } },
      { for name, w in var.workers : name => { role = "worker", ip = w.ip, pods = virtcluster_pod_network.pods.pod_cidrs[name] } },
    )
  }
}

output "picture" {
  description = "The cluster as a page."
  value       = module.cluster.picture.html
}

# A node that is made with its pod network before its kubelet registers keeps it: `terraform output -json nodes | kubectl apply -f -`.
output "nodes" {
  description = "The workers as Kubernetes' nodes."
  value = { apiVersion = "v1", kind = "List", items = [for name, cidr in virtcluster_pod_network.pods.pod_cidrs : {
    apiVersion = "v1", kind = "Node", metadata = { name = name }, spec = { podCIDR = cidr, podCIDRs = [cidr] }
  }] }
}
