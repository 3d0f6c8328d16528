package planregistry

import (
	"maps"
	"net/netip"
	"slices"
)

// Reserved is an address that a network keeps for one machine, in a range that it gives to any.
type Reserved struct {
	Address netip.Addr
	Range   Range
	// Holder is who has it kept.
	Holder string
}

// reservation is what a holder has kept on a network.
type reservation struct {
	on        network
	addresses []netip.Addr
}

// ReplaceDynamic takes the ranges that the plan gives to a network for what it gave before, and returns the addresses
// in them that the plan has kept there. Who refers to the network may use any of its names.
func (r *Ranges) ReplaceDynamic(hypervisor string, names []string, ranges ...Range) []Reserved {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.dynamic == nil {
		r.dynamic = map[network][]Range{}
	}
	var all []Reserved
	for _, name := range names {
		on := network{hypervisor, name}
		r.dynamic[on] = ranges
		for _, holder := range slices.Sorted(maps.Keys(r.reserved)) {
			if r.reserved[holder].on == on {
				all = append(all, r.listReservedInRange(holder)...)
			}
		}
	}
	return all
}

// ReplaceReserved takes what the plan has kept for a holder on a network for what it had before, and returns what of it
// is in a range that the plan gives to that network.
func (r *Ranges) ReplaceReserved(holder, hypervisor, name string, addresses ...netip.Addr) []Reserved {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.reserved == nil {
		r.reserved = map[string]reservation{}
	}
	r.reserved[holder] = reservation{network{hypervisor, name}, addresses}
	return r.listReservedInRange(holder)
}

// listReservedInRange lists a holder's addresses that are in ranges of their network. The mutex is held.
func (r *Ranges) listReservedInRange(holder string) []Reserved {
	var all []Reserved
	kept := r.reserved[holder]
	for _, a := range kept.addresses {
		for _, run := range r.dynamic[kept.on] {
			if run.Contains(a) {
				all = append(all, Reserved{a, run, holder})
			}
		}
	}
	return all
}
