package planregistry

import (
	"net/netip"
	"sync"
)

// Listed gathers the reservations that the networks of one plan list themselves. Planning a network again replaces what it
// said before. The zero value is ready.
type Listed struct {
	mu   sync.Mutex
	macs map[network]map[netip.Addr]string
}

// Replace takes what a network lists, MAC addresses in lower case by their address, for what it listed before. Who refers to
// the network may use any of its names.
func (l *Listed) Replace(hypervisor string, names []string, macs map[netip.Addr]string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.macs == nil {
		l.macs = map[network]map[netip.Addr]string{}
	}
	for _, name := range names {
		l.macs[network{hypervisor, name}] = macs
	}
}

// MAC is the one that a network of the plan lists an address for; "" where it does not.
func (l *Listed) MAC(hypervisor, name string, address netip.Addr) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.macs[network{hypervisor, name}][address]
}
