package planregistry

import (
	"maps"
	"net/netip"
	"slices"
	"sync"
)

// Range is a run of addresses that a DHCP server hands out, both ends included.
type Range struct{ Start, End netip.Addr }

// Contains says whether an address is in the range; none is where an end is not known.
func (r Range) Contains(a netip.Addr) bool {
	return r.Start.IsValid() && r.Start.Is4() == a.Is4() && r.Start.Compare(a) <= 0 && a.Compare(r.End) <= 0
}

// Leased is a virtual address that a DHCP server may hand out too.
type Leased struct {
	Address netip.Addr
	Range   Range
	// Network hands the range out, Holder has the address: each as its owner is called.
	Network, Holder string
}

// Ranges gathers the DHCP ranges of one plan, and the virtual and the reserved addresses that must be in none,
// whichever comes first. It is used as Claims is; the zero value is ready.
type Ranges struct {
	mu       sync.Mutex
	ranges   map[string][]Range
	virtual  map[string][]netip.Addr
	dynamic  map[network][]Range
	reserved map[string]reservation
}

// ReplaceRanges takes a network's ranges for what it had before, and returns the virtual addresses in them.
func (r *Ranges) ReplaceRanges(network string, ranges ...Range) []Leased {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ranges == nil {
		r.ranges = map[string][]Range{}
	}
	r.ranges[network] = ranges
	return r.leased(func(l Leased) bool { return l.Network == network })
}

// ReplaceVirtual takes a holder's addresses for what it had before, and returns those in a network's range.
func (r *Ranges) ReplaceVirtual(holder string, addresses ...netip.Addr) []Leased {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.virtual == nil {
		r.virtual = map[string][]netip.Addr{}
	}
	r.virtual[holder] = addresses
	return r.leased(func(l Leased) bool { return l.Holder == holder })
}

// leased lists the addresses in ranges that are meant, in order. The mutex is held.
func (r *Ranges) leased(meant func(Leased) bool) []Leased {
	var all []Leased
	for _, holder := range slices.Sorted(maps.Keys(r.virtual)) {
		for _, a := range r.virtual[holder] {
			for _, network := range slices.Sorted(maps.Keys(r.ranges)) {
				for _, run := range r.ranges[network] {
					if l := (Leased{Address: a, Range: run, Network: network, Holder: holder}); run.Contains(a) && meant(l) {
						all = append(all, l)
					}
				}
			}
		}
	}
	return all
}
