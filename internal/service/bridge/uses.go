package bridge

import "github.com/virtcluster/terraform-provider-virtcluster/internal/plan"

// Uses implements plan.User: a machine has one device of a name.
func (b Bridge) Uses() []plan.Use {
	return append(b.Addressing.ListUses(plan.BridgeAddress, b.Name), plan.Use{Verb: plan.Gives, Kind: plan.HostBridge, Value: b.Name, Path: []any{"name"}, Known: []string{"name"}})
}
