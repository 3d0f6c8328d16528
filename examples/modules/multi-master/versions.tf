terraform {
  required_version = ">= 1.9"

  required_providers {
    virtcluster = {
      source = "virtcluster/virtcluster"
    }
  }
}
