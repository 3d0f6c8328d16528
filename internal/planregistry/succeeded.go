package planregistry

import "sync"

// Succeeded gathers the networks that a plan replaces by others, so that they are in nobody's way. The zero value is ready to use.
type Succeeded struct {
	mu  sync.Mutex
	all map[succeeded]Succession
}

// Succession is how a network is replaced.
type Succession struct {
	// First says that the old network has to go before the new one can be made: they have a name or addresses in common.
	First bool
}

type succeeded struct{ hypervisor, uuid string }

// Put notes that a network of a hypervisor goes.
func (s *Succeeded) Put(hypervisor, uuid string, by Succession) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = map[succeeded]Succession{}
	}
	s.all[succeeded{hypervisor, uuid}] = by
}

// Find returns how a network of a hypervisor is replaced, and whether it is.
func (s *Succeeded) Find(hypervisor, uuid string) (by Succession, goes bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	by, goes = s.all[succeeded{hypervisor, uuid}]
	return by, goes
}

// Has says whether a network of a hypervisor is replaced.
func (s *Succeeded) Has(hypervisor, uuid string) bool {
	_, goes := s.Find(hypervisor, uuid)
	return goes
}
