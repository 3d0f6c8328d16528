package storage

import (
	"path"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
)

// PoolType is the one kind of pool that is managed: a directory.
const PoolType = "dir"

// Pool is a storage pool in plain values, with the names of their attributes (convert.ToPlain).
type Pool struct {
	// UUID is libvirt's; "" for one that is to be made.
	UUID string `attr:"id"`
	Name string `attr:"name"`
	Type string `attr:"type"`
	// Path is its directory on the hypervisor.
	Path string `attr:"path"`
	// Autostart says whether it starts with the hypervisor, Active whether it is started.
	Autostart bool `attr:"autostart"`
	Active    bool `attr:"active"`
	// CapacityBytes is the size of the file system that the directory is in, and AvailableBytes the free room in it; 0 while
	// the pool is stopped.
	CapacityBytes  int64 `attr:"capacity_bytes,zero"`
	AvailableBytes int64 `attr:"available_bytes,zero"`
}

// SamePath says whether two spellings mean one path.
func SamePath(a, b string) bool { return path.Clean(a) == path.Clean(b) }

// newPool returns a pool as the hypervisor has it.
func newPool(p *hypervisor.Pool) Pool {
	made := Pool{UUID: p.UUID(), Name: p.Name(), Type: p.Type(), Path: p.Path(), Autostart: p.Autostart, Active: p.Active}
	if !p.Active { // libvirt still has what it saw last
		return made
	}
	if p.XML.Capacity != nil {
		made.CapacityBytes = int64(p.XML.Capacity.Value)
	}
	if p.XML.Available != nil {
		made.AvailableBytes = int64(p.XML.Available.Value)
	}
	return made
}
