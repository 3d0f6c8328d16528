package snapshot

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/storage"
)

// place is a storage pool of a hypervisor.
type place struct {
	c    *hypervisor.Client
	pool string
}

// checkRoom says which pool has less room than a snapshot of machines takes for sure: their memory, where that is kept, and all of their raw
// disks, whose room is theirs already, and which may be written anew as a whole into their layers. Thin disks have no room of their own to
// begin with.
func checkRoom(ctx context.Context, parts []*part, memory bool) error {
	needs := map[place]uint64{}
	for _, p := range parts {
		for _, d := range p.disks {
			if storage.DiskFormat(d.top) == "raw" {
				needs[place{p.c, d.volume.Pool}] += d.top.Capacity()
			}
		}
		if memory && p.d.Active() {
			needs[place{p.c, p.disks[0].volume.Pool}] += p.memoryBytes()
		}
	}
	for _, at := range slices.SortedFunc(maps.Keys(needs), cmpPlaces) {
		if err := at.c.RefreshPool(ctx, at.pool); err != nil {
			return err
		}
		pool, err := at.c.Pool(ctx, at.pool)
		if err != nil {
			return err
		}
		if pool.XML.Available == nil || pool.XML.Capacity == nil || pool.XML.Capacity.Value == 0 {
			continue // a kind of pool that does not know
		}
		if left := pool.XML.Available.Value; needs[at] > left {
			const mib = 1 << 20
			return fmt.Errorf("storage pool %q of hypervisor %s has %d MiB left, and the snapshot may take %d MiB there, for raw disks that are written anew and for memory: make room there, or leave out memory",
				at.pool, at.c.URI(), left/mib, needs[at]/mib)
		}
	}
	return nil
}

// memoryBytes is the most that the machine's memory takes.
func (p *part) memoryBytes() uint64 {
	m := p.d.Config.Memory
	if m == nil {
		return 0
	}
	unit := map[string]uint64{"b": 1, "bytes": 1, "MiB": 1 << 20, "GiB": 1 << 30}[m.Unit]
	if unit == 0 {
		unit = 1 << 10 // libvirt's own
	}
	return uint64(m.Value) * unit
}

func cmpPlaces(a, b place) int {
	return slices.Compare([]string{a.c.URI(), a.pool}, []string{b.c.URI(), b.pool})
}
