package peer_test

import (
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/peer"
)

func TestAccMovedPools(t *testing.T) {
	const pools = `
resource "virtcluster_storage_pool" "cluster" {
  name = "cluster"
  path = "/srv/cluster"
}
`
	handOverAll(t, "0.8.3", peer.Pool, "virtcluster_storage_pool", pools+`
resource "virtcluster_storage_pool" "legacy" {
  name = "legacy"
  path = "/srv/legacy"
}
`)
	handOverAll(t, "0.9.7", peer.Pool, "virtcluster_storage_pool", pools+`
resource "virtcluster_storage_pool" "data" {
  name = "data"
  path = "/srv/data"
}
`)
}
