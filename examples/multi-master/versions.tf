# A whole cluster in resources of its own. `make demo` and `make demo-all` run it.
terraform {
  required_version = ">= 1.5"

  required_providers {
    virtcluster = {
      source = "virtcluster/virtcluster"
    }
  }
}

provider "virtcluster" {
  uri = var.uri

  ssh = {
    private_key_file = var.ssh_private_key_file
  }
}
