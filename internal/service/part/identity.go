package part

import "github.com/virtcluster/terraform-provider-virtcluster/internal/owner"

// Identity is what a part is called and whose it is, before anything is known of what it consists of.
type Identity struct {
	// Name is the object's on its machine; "" where a machine has one.
	Name string
	// ImportID is what `terraform import` takes for it.
	ImportID string
	// Mark is its owner's.
	Mark owner.Mark
	// Version is the provider's.
	Version string
}
