package planregistry

import "sync"

// Succeeded gathers the networks that a plan replaces by others of other names, so that they are in nobody's way. The zero value is
// ready to use.
type Succeeded struct {
	mu  sync.Mutex
	all map[succeeded]bool
}

type succeeded struct{ hypervisor, uuid string }

// Put notes that a network of a hypervisor goes.
func (s *Succeeded) Put(hypervisor, uuid string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = map[succeeded]bool{}
	}
	s.all[succeeded{hypervisor, uuid}] = true
}

// Has says whether a network of a hypervisor goes.
func (s *Succeeded) Has(hypervisor, uuid string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all[succeeded{hypervisor, uuid}]
}
