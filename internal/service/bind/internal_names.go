package bind

import (
	"slices"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// isInternalName says whether an owner name is one that only machines of a cluster need: OpenShift's api-int leads to
// the machine configuration server, which hands out secrets.
func isInternalName(owner string) bool {
	first, _, _ := strings.Cut(owner, ".")
	return first == "api-int"
}

// InternalNames lists the zone's names that strangers need not know.
func (z Zone) InternalNames() []string {
	zone, err := z.CanonicalName()
	if err != nil {
		return nil
	}
	var names []string
	for owner := range z.Records {
		if name, err := OwnerName(owner, zone); err == nil && isInternalName(name) {
			names = append(names, strings.TrimSuffix(absoluteName(name, zone), "."))
		}
	}
	slices.Sort(names)
	return names
}

// InternalNames lists the names in a view that strangers need not know.
func InternalNames(t transaction.Tree, view string) []string {
	c, err := readConfig(t)
	if err != nil {
		return nil
	}
	s := c.findView(view)
	if s == nil {
		return nil
	}
	var names []string
	for _, in := range s.Block().Statements {
		if in.Name() != "zone" {
			continue
		}
		if z, err := FindZone(t, view, in.Arg(0)); err == nil {
			names = append(names, z.InternalNames()...)
		}
	}
	return names
}
