resource "virtcluster_service_node" "first" {
  endpoint = "ssh://root@10.0.0.100"
  services = ["registry"]
}

variable "builder_hash" {
  description = "bcrypt hash of the builder's password, as htpasswd -nB prints it"
  type        = string
  sensitive   = true
}

# Images are pushed here.
resource "virtcluster_registry" "images" {
  service_node = virtcluster_service_node.first.id
  name         = "images"
  users        = { builder = var.builder_hash }
}

# Images of the other registry are kept from the first pull on.
resource "virtcluster_registry" "mirror" {
  service_node = virtcluster_service_node.first.id
  name         = "mirror"
  port         = 5001
  mirror_of    = "https://registry-1.docker.io"
}
