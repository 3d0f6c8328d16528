package storage

import (
	"path"

	"libvirt.org/go/libvirtxml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
)

// Pool is a storage pool in plain values, with the names of their attributes (convert.ToPlain).
type Pool struct {
	// UUID is libvirt's; "" for one that is to be made.
	UUID string `attr:"id"`
	Name string `attr:"name"`
	Type string `attr:"type"`
	// Path is where its volumes are on the hypervisor: a directory; "" where they have no path.
	Path string `attr:"path"`
	// Source is what it is made from; nil for a directory.
	Source *PoolSource `attr:"source"`
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
	made := Pool{UUID: p.UUID(), Name: p.Name(), Type: p.Type(), Path: p.Path(), Source: readSource(&p.Config), Autostart: p.Autostart, Active: p.Active}
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

// A pool's XML has no room for notes, and what this provider must remember has to outlive a killed apply and a lost state: whose a
// pool is, and whether the provider made its directory. But libvirt keeps the vendor and the product of what any pool is made from, and
// a directory has neither: so the vendor is the owner's mark, and the product says who made the directory.
const (
	adopted = "directory adopted" // it was there
	made    = "directory made"    // the provider made it, so it goes with the pool when it is empty
)

// notePool writes in a pool's definition whose it is and where its directory is from.
func notePool(pool *libvirtxml.StoragePool, m owner.Mark, origin string) {
	if pool.Source == nil {
		pool.Source = &libvirtxml.StoragePoolSource{}
	}
	pool.Source.Vendor = &libvirtxml.StoragePoolSourceVendor{Name: "virtcluster " + m.String()}
	pool.Source.Product = &libvirtxml.StoragePoolSourceProduct{Name: origin}
}

// readPoolMark reads whose a pool is; the zero Mark for one that this provider did not make.
func readPoolMark(p *hypervisor.Pool) owner.Mark {
	if p.Config.Source == nil || p.Config.Source.Vendor == nil {
		return owner.Mark{}
	}
	return owner.Parse(p.Config.Source.Vendor.Name)
}

// hasMadeDirectory says whether this provider made the pool's directory, for whichever state.
func hasMadeDirectory(p *hypervisor.Pool) bool {
	return readPoolMark(p).ID != "" && readOrigin(p) == made
}

func readOrigin(p *hypervisor.Pool) string {
	if p.Config.Source == nil || p.Config.Source.Product == nil {
		return adopted
	}
	return p.Config.Source.Product.Name
}
