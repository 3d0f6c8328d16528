locals {
  base = "/srv/cluster/tiny-base.qcow2"
}

resource "virtcluster_volume" "web" {
  name     = "web-root.qcow2"
  pool     = "cluster"
  image    = local.base
  size_gib = 5
}

resource "virtcluster_volume" "db" {
  name     = "db-root.qcow2"
  pool     = "data"
  image    = local.base
  size_gib = 2
}

resource "virtcluster_volume" "db_data" {
  name     = "db-data.qcow2"
  pool     = "cluster"
  size_gib = 10
}

# 1500000000 bytes: a part of a GiB does not count.
resource "virtcluster_volume" "db_wal" {
  name     = "db-wal.raw"
  pool     = "data"
  format   = "raw"
  size_gib = 1
}

resource "virtcluster_volume" "single" {
  for_each = toset(["router", "bridged", "uefi", "builder"])
  name     = "${each.key}.qcow2"
  pool     = "cluster"
  image    = local.base
  size_gib = 2
}

resource "virtcluster_volume" "master" {
  count    = 2
  name     = "master-${count.index}.qcow2"
  pool     = "cluster"
  image    = local.base
  size_gib = 1
}

resource "virtcluster_volume" "worker" {
  for_each = toset(["blue", "green"])
  name     = "worker-${each.key}.qcow2"
  pool     = "cluster"
  image    = local.base
  size_gib = 1
}
