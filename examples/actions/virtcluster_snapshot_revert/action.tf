resource "virtcluster_node" "worker" {
  name      = "okd-worker-01"
  root_disk = { size_gib = 40 }
}

resource "virtcluster_snapshot" "clean" {
  name  = "clean"
  nodes = [virtcluster_node.worker.id]
}

# terraform apply -invoke=action.virtcluster_snapshot_revert.clean
action "virtcluster_snapshot_revert" "clean" {
  config {
    snapshot = virtcluster_snapshot.clean.id
  }
}
