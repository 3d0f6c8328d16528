package keepalived

import (
	"bytes"
	"cmp"
	"maps"
	"net/netip"
	"slices"
)

// finalInstance is what a member is to serve, with what a person wrote into what it serves.
func (r *rollout) finalInstance(id string) Instance {
	in := r.target.Instance(id)
	in.kept = r.Live[id].kept
	return in
}

func (r *rollout) isMember(id string) bool {
	return slices.ContainsFunc(r.target.Members, func(m Member) bool { return m.ID == id })
}

func (r *rollout) memberIDs() []string {
	ids := make([]string, 0, len(r.target.Members))
	for _, m := range r.target.Members {
		ids = append(ids, m.ID)
	}
	return ids
}

// otherMachines are the machines with an instance, but one, in order.
func (r *rollout) otherMachines(but string) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(r.current)), func(id string) bool { return id == but })
}

// byRank are the members as VRRP elects them: by priority, then by address.
func (r *rollout) byRank() []string {
	members := slices.Clone(r.target.Members)
	slices.SortStableFunc(members, func(a, b Member) int {
		return cmp.Or(cmp.Compare(r.effectivePriority(b.ID, b.Priority), r.effectivePriority(a.ID, a.Priority)), b.Address.Compare(a.Address))
	})
	ids := make([]string, 0, len(members))
	for _, m := range members {
		ids = append(ids, m.ID)
	}
	return ids
}

func (r *rollout) bestBut(id string) string {
	for _, other := range r.byRank() {
		if other != id {
			return other
		}
	}
	return ""
}

// expectedOwner is who shall hold the addresses in the end.
func (r *rollout) expectedOwner() string {
	first := r.byRank()[0]
	if r.target.Preempt && r.effectivePriority(first, r.finalInstance(first).Priority) > r.effectivePriority(r.owner, r.finalInstance(r.owner).Priority) {
		return first
	}
	return r.owner
}

// effectivePriority is a priority with what tracking makes of it, as keepalived bounds it.
func (r *rollout) effectivePriority(id string, priority int) int {
	return min(priority+r.Bonus[id], 254)
}

// Equal says whether two instances mean the same to keepalived, and are one owner's.
func (in Instance) Equal(other Instance) bool {
	return in.Owner == other.Owner && in.PasswordVersion == other.PasswordVersion && in.SyncGroup == other.SyncGroup && in.sameScripts(other) && bytes.Equal(in.Render(), other.Render())
}

// areCompatible says whether two machines with these instances would understand each other.
func areCompatible(a, b Instance) bool {
	set := func(in Instance) []netip.Prefix {
		return slices.SortedFunc(slices.Values(in.Addresses), netip.Prefix.Compare)
	}
	return a.RouterID == b.RouterID && a.Version == b.Version && a.AdvertInterval == b.AdvertInterval &&
		a.AuthPass == b.AuthPass && a.Unicast == b.Unicast && slices.Equal(set(a), set(b))
}

// survivesReload says whether a reload from one instance to the other keeps a master a master.
func survivesReload(a, b Instance) bool {
	return a.Name == b.Name && a.RouterID == b.RouterID && a.Interface == b.Interface && a.Version == b.Version &&
		a.Unicast == b.Unicast && a.Source == b.Source
}

func addAddress(addresses []netip.Addr, a netip.Addr) []netip.Addr {
	if !a.IsValid() || slices.Contains(addresses, a) {
		return addresses
	}
	return slices.SortedFunc(slices.Values(append(slices.Clone(addresses), a)), netip.Addr.Compare)
}
