resource "virtcluster_image" "fcos" {
  name   = "fcos.qcow2"
  pool   = "default"
  source = "https://builds.coreos.fedoraproject.org/prod/streams/stable/builds/43.20251024.3.0/x86_64/fedora-coreos-43.20251024.3.0-qemu.x86_64.qcow2.xz"

  # Over the file as the server has it, so before it is decompressed.
  checksum = "sha256:0000000000000000000000000000000000000000000000000000000000000000"
}

# A file that was built on the machine that Terraform runs on; it is uploaded anew when it changes.
resource "virtcluster_image" "built" {
  name   = "built.raw"
  pool   = "default"
  source = "${path.module}/built.raw.zst"
}
