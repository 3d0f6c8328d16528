package plan

import "slices"

// PlansBridge says whether a resource of the plan has a bridge on a place that is meant, or on a machine that may be it: which hypervisor
// a machine is cannot be told for sure, as a machine has many names.
func PlansBridge(view View, bridge string, meant func(place string) bool) bool {
	for _, kind := range []Kind{NetworkBridge, HostBridge} {
		for _, u := range view.List(kind) {
			elsewhere := len(u.Holder.Places) > 0 && IsHypervisor(u.Holder.Places[0])
			if u.Value == bridge && (!elsewhere || slices.ContainsFunc(u.Holder.Places, meant)) {
				return true
			}
		}
	}
	return false
}
