package peer_test

import (
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/peer"
)

func TestAccMovedNetworks(t *testing.T) {
	for _, version := range []string{"0.8.3", "0.9.7"} {
		handOverAll(t, version, peer.Network, "virtcluster_network", configured(t, version, "networks.tf"))
	}
}
