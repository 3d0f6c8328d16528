package planregistry

import (
	"slices"
	"sync"
)

// ProxyPlace is a frontend or a backend on a service node.
type ProxyPlace struct{ Node, Name string }

// FrontendUse is a frontend's mode, and the backends that it leads to.
type FrontendUse struct {
	Mode     string
	Backends []string
}

// Modes gathers the modes of HAProxy's frontends and backends of one plan, where they are written: a frontend of HTTP leads to backends
// of HTTP only. Planning one of them again replaces what it said before. The zero value is ready to use.
type Modes struct {
	mu        sync.Mutex
	backends  map[ProxyPlace]string
	frontends map[ProxyPlace]FrontendUse
}

// PutBackend notes a backend, and returns the names of the frontends of the plan that cannot lead to it.
func (m *Modes) PutBackend(at ProxyPlace, mode string) (wrong []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.backends == nil {
		m.backends = map[ProxyPlace]string{}
	}
	m.backends[at] = mode
	for frontend, use := range m.frontends {
		if frontend.Node == at.Node && use.Mode == "http" && mode == "tcp" && slices.Contains(use.Backends, at.Name) {
			wrong = append(wrong, frontend.Name)
		}
	}
	slices.Sort(wrong)
	return wrong
}

// PutFrontend notes a frontend, and returns which of the plan's backends it cannot lead to.
func (m *Modes) PutFrontend(at ProxyPlace, use FrontendUse) (wrong []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.frontends == nil {
		m.frontends = map[ProxyPlace]FrontendUse{}
	}
	m.frontends[at] = use
	for _, name := range use.Backends {
		if use.Mode == "http" && m.backends[ProxyPlace{at.Node, name}] == "tcp" {
			wrong = append(wrong, name)
		}
	}
	return wrong
}
