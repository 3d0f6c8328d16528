package hostnet

import "github.com/virtcluster/terraform-provider-virtcluster/internal/plan"

// ListUses returns what a device uses of its machine: the addresses that it is given, in the role of a kind. What it inherits, or gets by
// DHCP, the plan does not know.
func (a Addressing) ListUses(kind plan.Kind, device string) []plan.Use {
	if len(a.Addresses) == 0 {
		return nil
	}
	uses := []plan.Use{{Verb: plan.Gives, Kind: plan.KnownAddresses, Value: device, Known: []string{"addresses"}}}
	for _, p := range a.Addresses {
		uses = append(uses, plan.Use{Kind: kind, Value: p.Addr().String(), Path: []any{"addresses"}})
	}
	return uses
}
