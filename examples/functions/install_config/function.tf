terraform {
  required_providers {
    virtcluster = { source = "virtcluster/virtcluster" }
  }
}

variable "pull_secret" {
  type      = string
  sensitive = true
  default   = "{\"auths\":{\"quay.io\":{\"auth\":\"c2VjcmV0\"}}}"
}

output "install_config" {
  sensitive = true
  value = provider::virtcluster::install_config({
    baseDomain   = "example"
    metadata     = { name = "okd" }
    controlPlane = { replicas = 3 }
    compute      = [{ replicas = 0 }] # machines that are installed by hand join later
    networking = {
      networkType    = "OVNKubernetes"
      machineNetwork = [{ cidr = "10.0.0.0/24" }]
      clusterNetwork = [{ cidr = "10.128.0.0/14", hostPrefix = 23 }]
      serviceNetwork = ["172.30.0.0/16"]
    }
    platform   = { none = {} }
    pullSecret = var.pull_secret
    sshKey     = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIK0v admin@okd.example"
  })
}
