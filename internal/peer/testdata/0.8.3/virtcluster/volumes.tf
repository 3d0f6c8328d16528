locals {
  base = "/srv/cluster/tiny-base.qcow2"
}

resource "virtcluster_volume" "web" {
  name     = "web-root.qcow2"
  pool     = "cluster"
  image    = local.base
  size_gib = 5
}

# Cloned from another pool, with the image's size, which is no whole GiB.
resource "virtcluster_volume" "db" {
  name  = "db-root.qcow2"
  pool  = "legacy"
  image = local.base
}

resource "virtcluster_volume" "db_data" {
  name     = "db-data.qcow2"
  pool     = "cluster"
  size_gib = 10
}

# 1500000000 bytes: a part of a GiB does not count.
resource "virtcluster_volume" "db_wal" {
  name     = "db-wal.raw"
  pool     = "legacy"
  format   = "raw"
  size_gib = 1
}

resource "virtcluster_volume" "router" {
  name  = "router.qcow2"
  pool  = "cluster"
  image = local.base
}

resource "virtcluster_volume" "bridged" {
  name  = "bridged.qcow2"
  pool  = "cluster"
  image = local.base
}

resource "virtcluster_volume" "uefi" {
  name     = "uefi.qcow2"
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
}
