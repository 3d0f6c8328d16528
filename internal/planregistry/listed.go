package planregistry

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"sync"
)

// Listed gathers the reservations that the networks of one plan list themselves, and the addresses that other resources keep on them
// for machines of theirs. Planning a network again replaces what it said before. The zero value is ready.
type Listed struct {
	mu   sync.Mutex
	macs map[network]map[netip.Addr]string
	kept map[string][]Kept
}

// Kept is an address of a network that a resource keeps for a machine, whose MAC address is in lower case.
type Kept struct {
	Hypervisor, Network string
	Address             netip.Addr
	MAC                 string
}

// Contested is an address that a network lists for one machine and a resource keeps for another.
type Contested struct {
	Address netip.Addr
	// Listed is the MAC address that the network lists; Kept is what Holder has.
	Listed string
	Kept   Kept
	Holder string
}

// Replace takes what a network lists, MAC addresses in lower case by their address, for what it listed before, and returns what
// others keep of that for another machine. Who refers to the network may use any of its names.
func (l *Listed) Replace(hypervisor string, names []string, macs map[netip.Addr]string) []Contested {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.macs == nil {
		l.macs = map[network]map[netip.Addr]string{}
	}
	var all []Contested
	for _, name := range names {
		l.macs[network{hypervisor, name}] = macs
	}
	for _, holder := range slices.Sorted(maps.Keys(l.kept)) {
		for _, c := range l.contestedBy(holder) {
			if c.Kept.Hypervisor == hypervisor && slices.Contains(names, c.Kept.Network) {
				all = append(all, c)
			}
		}
	}
	return all
}

// ReplaceKept takes what a holder keeps for what it kept before, and returns what of it a network of the plan lists for another machine.
func (l *Listed) ReplaceKept(holder string, kept ...Kept) []Contested {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.kept == nil {
		l.kept = map[string][]Kept{}
	}
	l.kept[holder] = kept
	return l.contestedBy(holder)
}

// contestedBy lists what a holder keeps and a network lists for another machine. The mutex is held.
func (l *Listed) contestedBy(holder string) []Contested {
	var all []Contested
	for _, k := range l.kept[holder] {
		if mac := l.macs[network{k.Hypervisor, k.Network}][k.Address]; mac != "" && mac != k.MAC {
			all = append(all, Contested{Address: k.Address, Listed: mac, Kept: k, Holder: holder})
		}
	}
	return all
}

// List returns those of the addresses that networks of the plan list that are asked about, in order, each once with the MAC address that
// it is for.
func (l *Listed) List(asked func(netip.Addr) bool) []Kept {
	l.mu.Lock()
	defer l.mu.Unlock()
	found := map[Kept]bool{}
	for on, macs := range l.macs {
		for a, mac := range macs {
			if asked(a) {
				found[Kept{on.hypervisor, on.owner, a, mac}] = true
			}
		}
	}
	return slices.SortedFunc(maps.Keys(found), func(a, b Kept) int {
		return cmp.Or(a.Address.Compare(b.Address), strings.Compare(a.Network, b.Network))
	})
}
