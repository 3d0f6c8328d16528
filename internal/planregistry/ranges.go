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

// String is the range as messages name it.
func (r Range) String() string {
	if r.Start == r.End {
		return r.Start.String()
	}
	return r.Start.String() + " to " + r.End.String()
}

// Overlaps says whether two ranges have an address in common.
func (r Range) Overlaps(other Range) bool {
	return r.Contains(other.Start) || other.Contains(r.Start)
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
	virtual  map[string][]Range
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
	return r.listLeased(func(l Leased) bool { return l.Network == network })
}

// ReplaceVirtual takes a holder's addresses for what it had before, and returns those in a network's range.
func (r *Ranges) ReplaceVirtual(holder string, addresses ...netip.Addr) []Leased {
	all := make([]Range, 0, len(addresses))
	for _, a := range addresses {
		all = append(all, Range{Start: a, End: a})
	}
	return r.ReplacePool(holder, all...)
}

// ReplacePool is ReplaceVirtual for runs of addresses. Of each, the first that a network hands out too is returned.
func (r *Ranges) ReplacePool(holder string, runs ...Range) []Leased {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.virtual == nil {
		r.virtual = map[string][]Range{}
	}
	r.virtual[holder] = runs
	return r.listLeased(func(l Leased) bool { return l.Holder == holder })
}

// listLeased lists the addresses in ranges that are meant, in order. The mutex is held.
func (r *Ranges) listLeased(meant func(Leased) bool) []Leased {
	var all []Leased
	for _, holder := range slices.Sorted(maps.Keys(r.virtual)) {
		for _, held := range r.virtual[holder] {
			for _, network := range slices.Sorted(maps.Keys(r.ranges)) {
				for _, run := range r.ranges[network] {
					first := held.Start
					if first.Less(run.Start) {
						first = run.Start
					}
					if l := (Leased{Address: first, Range: run, Network: network, Holder: holder}); run.Overlaps(held) && meant(l) {
						all = append(all, l)
					}
				}
			}
		}
	}
	return all
}
