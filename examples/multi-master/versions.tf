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
