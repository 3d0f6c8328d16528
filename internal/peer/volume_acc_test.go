package peer_test

import (
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/peer"
)

// What was made of a file becomes an image, and all else a volume.
func TestAccMovedVolumes(t *testing.T) {
	for _, version := range []string{"0.8.3", "0.9.7"} {
		handOverAll(t, version, peer.Volume, "virtcluster_volume", configured(t, version, "volumes.tf"))
	}
}

func TestAccMovedImages(t *testing.T) {
	for _, version := range []string{"0.8.3", "0.9.7"} {
		handOverAll(t, version, peer.Volume, "virtcluster_image", configured(t, version, "images.tf"))
	}
}
