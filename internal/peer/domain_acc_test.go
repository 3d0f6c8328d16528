package peer_test

import (
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/peer"
)

func TestAccMovedDomains(t *testing.T) {
	for _, version := range []string{"0.8.3", "0.9.7"} {
		handOverAll(t, version, peer.Domain, "virtcluster_node", configured(t, version, "nodes.tf"))
	}
}
