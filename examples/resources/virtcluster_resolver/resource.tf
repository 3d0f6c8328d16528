# The hypervisor asks the cluster's own name servers for the cluster's names, and its own for all others.
resource "virtcluster_resolver" "hypervisor" {
  host        = "ssh://root@kvm1.example?host_key=nThbg6kXUpJWGl7E1IGOCspRomTxdCARLviKw6E5SY8"
  nameservers = ["10.0.0.100", "10.0.0.101"]
  domains     = ["okd.example"]
}

# The machine that Terraform runs on asks them for every name.
resource "virtcluster_resolver" "here" {
  host        = "local:"
  nameservers = ["10.0.0.100", "10.0.0.101"]
  search      = ["okd.example"]
}
