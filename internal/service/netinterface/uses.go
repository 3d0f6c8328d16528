package netinterface

import (
	"fmt"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/plan"
)

// Uses implements plan.User: an interface has one configuration.
func (i Interface) Uses() []plan.Use {
	return append(i.Addressing.ListUses(plan.InterfaceAddress, i.Name), plan.Use{Kind: plan.Device, Value: i.Name, Path: []any{"name"}})
}

// Describe implements plan.Described.
func (i Interface) Describe(string) string {
	if i.DHCP {
		return fmt.Sprintf("interface %q with DHCP", i.Name)
	}
	return fmt.Sprintf("interface %q with %q", i.Name, i.Addresses)
}
