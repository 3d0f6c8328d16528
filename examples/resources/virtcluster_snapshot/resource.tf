resource "virtcluster_node" "master" {
  for_each  = toset(["okd-master-01", "okd-master-02", "okd-master-03"])
  name      = each.key
  root_disk = { size_gib = 40 }
}

# One moment of all masters: their etcd comes back as one.
resource "virtcluster_snapshot" "before_upgrade" {
  name  = "before-upgrade"
  nodes = [for n in virtcluster_node.master : n.id]

  # Another number takes all of them back.
  # revert = 1
}

# With memory they go on where they were, and without agents in the guests nothing is held.
resource "virtcluster_snapshot" "lab" {
  name    = "lab"
  nodes   = [for n in virtcluster_node.master : n.id]
  memory  = true
  quiesce = "none"

  depends_on = [virtcluster_snapshot.before_upgrade]
}
