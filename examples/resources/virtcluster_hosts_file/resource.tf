# The machine that Terraform runs on resolves the cluster's names.
resource "virtcluster_hosts_file" "cluster" {
  host = "local:"
  name = "okd"
  entries = {
    "10.0.0.101" = ["api.okd.example", "console-openshift-console.apps.okd.example", "oauth-openshift.apps.okd.example"]
  }
}
