package peer_test

import (
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/peer"
)

func TestAccMovedPools(t *testing.T) {
	for _, version := range []string{"0.8.3", "0.9.7"} {
		handOverAll(t, version, peer.Pool, "virtcluster_storage_pool", configured(t, version, "pools.tf"))
	}
}
