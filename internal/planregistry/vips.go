package planregistry

import "sync"

// VIPs keeps the members of virtual addresses by the ids of those: no machine but the members knows of one, and its id does not
// name them. The zero value is ready to use.
type VIPs struct {
	mu   sync.Mutex
	byID map[string][]VIPMember
}

// VIPMember is one member: its name, and the id of its service node.
type VIPMember struct{ Name, ServiceNode string }

// Put notes the members of a VIP.
func (v *VIPs) Put(id string, members []VIPMember) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.byID == nil {
		v.byID = map[string][]VIPMember{}
	}
	v.byID[id] = members
}

// Get returns the members of a VIP that the run has seen.
func (v *VIPs) Get(id string) ([]VIPMember, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	members, seen := v.byID[id]
	return members, seen
}
