package storage

import (
	"context"
	"fmt"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// A snapshot has a machine go on in another file for each of its disks, a layer, which is an overlay of the file that the disk was in before.
// Every layer is called by the volume that the disk is to whoever uses it, however many layers lie between, so that its name alone tells that
// volume from it: VOLUME.vcsnap-SNAPSHOT, in the volume's directory.
//
// A revert makes a layer beside the one that there is, so that the machine has a whole disk at any moment: every second one ends in a tilde.
const (
	layerWord = ".vcsnap-"
	again     = "~"
)

// LayersOf returns the two layers that a snapshot may have upon a volume: of its first moment, and after every second revert. All are given by
// their names, or the volume and so the layers by their paths.
func LayersOf(volume, snapshot string) [2]string {
	first := volume + layerWord + snapshot
	return [2]string{first, first + again}
}

// SplitLayer returns the volume that a layer is of, by its name or its path, and its snapshot; the volume is what was given, and the
// snapshot "", for what is no layer.
func SplitLayer(layer string) (volume, snapshot string) {
	at := strings.LastIndex(layer, layerWord)
	if at <= 0 || strings.Contains(layer[at:], "/") || layer[at-1] == '/' {
		return layer, ""
	}
	return layer[:at], strings.TrimSuffix(layer[at+len(layerWord):], again)
}

// isLayer says whether a file is called as a snapshot's layer is.
func isLayer(name string) bool {
	_, snapshot := SplitLayer(name)
	return snapshot != ""
}

// refuseLayered says why a volume does not grow that snapshots lie upon: machines are in the layers, and would see nothing of it.
func refuseLayered(ctx context.Context, c *hypervisor.Client, v Volume) (why, err error) {
	names, err := c.VolumeNames(ctx, v.Pool)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if volume, snapshot := SplitLayer(name); volume == v.Name && snapshot != "" && !markForm.MatchString(name) {
			return fmt.Errorf("snapshot %q lies upon the volume %q, and a machine that has it would see nothing of what it grows by: destroy the snapshot in an apply of its own first, which merges it", snapshot, v.Name), nil
		}
	}
	return nil, nil
}

// CheckGrowth returns the problem of a volume that is to grow while a snapshot lies upon it.
func (k Checker) CheckGrowth(ctx context.Context, want Volume) []service.Problem {
	why, err := refuseLayered(ctx, k.Client, want)
	if err == nil && why != nil {
		return []service.Problem{service.NewProblem("Volume with a snapshot", service.At([]any{"size_gib"}, why))}
	}
	return nil
}
