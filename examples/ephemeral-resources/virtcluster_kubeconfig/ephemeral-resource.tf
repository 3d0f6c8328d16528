resource "virtcluster_readiness" "api" {
  url      = "https://api.okd.example:6443/readyz"
  insecure = true
  timeout  = "30m"
}

ephemeral "virtcluster_kubeconfig" "okd" {
  endpoint = "ssh://core@10.0.0.11"
  server   = "https://api.okd.example:6443"
  after    = virtcluster_readiness.api.answer
}

# For the configuration of another provider:
#
#   provider "kubernetes" {
#     host                   = ephemeral.virtcluster_kubeconfig.okd.host
#     cluster_ca_certificate = ephemeral.virtcluster_kubeconfig.okd.ca_certificate
#     client_certificate     = ephemeral.virtcluster_kubeconfig.okd.client_certificate
#     client_key             = ephemeral.virtcluster_kubeconfig.okd.client_key
#   }
