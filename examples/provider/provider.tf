terraform {
  required_providers {
    virtcluster = {
      source = "virtcluster/virtcluster"
    }
  }
}

provider "virtcluster" {
  uri = "qemu:///system"

  hypervisors = {
    lab2 = { uri = "qemu+ssh://root@lab2.example/system" }
  }

  ssh = {
    private_key_file = "~/.ssh/id_ed25519"
  }
}
