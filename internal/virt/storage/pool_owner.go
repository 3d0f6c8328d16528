package storage

import (
	"libvirt.org/go/libvirtxml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
)

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
