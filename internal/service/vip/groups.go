package vip

import "sync"

// Groups keep the VIPs of a sync group, which move together, from being changed at the same time. The zero value is ready to be used.
type Groups struct {
	mu     sync.Mutex
	byName map[string]*sync.Mutex
}

// takeTurn waits until no other VIP of the sync group is being changed, and returns how to end the own turn.
func (g *Groups) takeTurn(group string) (done func()) {
	if group == "" {
		return func() {}
	}
	g.mu.Lock()
	if g.byName == nil {
		g.byName = map[string]*sync.Mutex{}
	}
	if g.byName[group] == nil {
		g.byName[group] = &sync.Mutex{}
	}
	turn := g.byName[group]
	g.mu.Unlock()
	turn.Lock()
	return turn.Unlock
}
