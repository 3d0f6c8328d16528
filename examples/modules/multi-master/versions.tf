terraform {
  required_version = ">= 1.8"

  required_providers {
    virtcluster = {
      source = "virtcluster/virtcluster"
    }
  }
}
