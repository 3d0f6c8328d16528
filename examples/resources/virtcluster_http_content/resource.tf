resource "virtcluster_service_node" "first" {
  endpoint = "ssh://root@10.0.0.100"
}

# What a machine boots, kept on the service node.
resource "virtcluster_http_content" "kernel" {
  service_node = virtcluster_service_node.first.id
  listen       = "10.0.0.100:8080"
  path         = "/installer/vmlinuz"
  source       = "https://mirror.example.com/installer/vmlinuz"
  checksum     = "sha256:0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c4b5a69788796a5b4c3d2e1f0"
}

# A text of the configuration's own.
resource "virtcluster_http_content" "hello" {
  service_node = virtcluster_service_node.first.id
  listen       = "10.0.0.100:8080"
  path         = "/hello.txt"
  content      = "hello\n"
}

output "kernel" {
  value = virtcluster_http_content.kernel.url
}
