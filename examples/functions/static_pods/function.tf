terraform {
  required_providers {
    virtcluster = { source = "virtcluster/virtcluster" }
  }
}

variable "release" {
  description = "Images of the cluster's release, as `oc adm release info --image-for=…` names them."
  type        = map(string)
  default = {
    keepalived = "registry.example/okd/keepalived-ipfailover:4.20"
    haproxy    = "registry.example/okd/haproxy-router:4.20"
    coredns    = "registry.example/okd/coredns:4.20"
    # With it the operator's monitors stand beside the daemons, and follow the nodes that come and go.
    runtimecfg = "registry.example/okd/baremetal-runtimecfg:4.20"
  }
}

locals {
  machines = {
    bootstrap = { role = "bootstrap", address = "10.0.0.200" }
    master-0  = { role = "master", address = "10.0.0.1" }
    master-1  = { role = "master", address = "10.0.0.2" }
    master-2  = { role = "master", address = "10.0.0.3" }
    worker-0  = { role = "worker", address = "10.0.0.4" }
  }

  pods = provider::virtcluster::static_pods({
    cluster      = "okd"
    domain       = "okd.example"
    network      = "10.0.0.0/24"
    interface    = "enp1s0"
    api_vip      = "10.0.0.250"
    ingress_vip  = "10.0.0.251"
    name_servers = ["10.0.0.254"]
    machines     = [for name, m in local.machines : merge(m, { name = name })]
    images       = var.release
  })
}

# Beside what the machine's role says, as openshift-install writes it.
output "ignition" {
  value = { for name, pods in local.pods : name => provider::virtcluster::ignition_merge(jsonencode({ ignition = { version = "3.2.0" } }), pods) }
}
