resource "virtcluster_node" "db" {
  name      = "db-01"
  root_disk = { size_gib = 20 }
  disks     = { data = { size_gib = 100 } }
}

# All disks as they are on Sunday. Another number makes a new one.
resource "virtcluster_backup" "sunday" {
  name          = "sunday"
  node          = virtcluster_node.db.id
  target        = { pool = "backups" }
  bandwidth_mib = 50
  generation    = 1
}

# What was written to the data since then.
resource "virtcluster_backup" "monday" {
  name             = "monday"
  node             = virtcluster_node.db.id
  disks            = ["data"]
  target           = { pool = "backups" }
  incremental_from = virtcluster_backup.sunday.checkpoint
}

# Into a directory of the hypervisor that is no pool, and only where the guest holds its file systems.
resource "virtcluster_backup" "before_upgrade" {
  name    = "before-upgrade"
  node    = virtcluster_node.db.name
  target  = { path = "/srv/backups" }
  quiesce = "required"
}
