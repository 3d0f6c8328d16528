package planregistry

import (
	"slices"
	"sync"
)

// DiskClaim is the claim of a machine that runs to a volume that outlives it: QEMU lets only one write to it.
func DiskClaim(hypervisor, path string) Claim {
	return Claim{Kind: "use of volume", Scope: nameScope(hypervisor), Value: path}
}

// Disks gathers which machines of one plan have a volume as a disk, and which volumes the plan destroys: who comes second sees what
// the other one says. The zero value is ready to use.
type Disks struct {
	mu    sync.Mutex
	users map[string][]disk
	gone  []disk
}

// disk is a volume by its path on a hypervisor.
type disk struct{ hypervisor, path string }

// ReplaceUses takes the volumes of a machine for those that it had before, and returns which of them the plan destroys.
func (d *Disks) ReplaceUses(machine, hypervisor string, paths ...string) (gone []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.users == nil {
		d.users = map[string][]disk{}
	}
	d.users[machine] = nil
	for _, path := range paths {
		used := disk{hypervisor, path}
		d.users[machine] = append(d.users[machine], used)
		if slices.Contains(d.gone, used) {
			gone = append(gone, path)
		}
	}
	return gone
}

// Remove notes that the plan destroys a volume, and returns the machines that are to have it.
func (d *Disks) Remove(hypervisor, path string) (machines []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	removed := disk{hypervisor, path}
	d.gone = append(d.gone, removed)
	for machine, used := range d.users {
		if slices.Contains(used, removed) {
			machines = append(machines, machine)
		}
	}
	slices.Sort(machines)
	return machines
}
