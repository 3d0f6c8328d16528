package planregistry

import (
	"slices"
	"testing"
)

func TestAFrontendOfHTTPLeadsToNoBackendOfTCP(t *testing.T) {
	var m Modes
	if wrong := m.PutFrontend(ProxyPlace{"n", "f"}, FrontendUse{"http", []string{"a", "b"}}); wrong != nil {
		t.Errorf("before the backends: %v", wrong)
	}
	for _, c := range []struct {
		node, name, mode string
		wrong            []string
	}{{"n", "a", "tcp", []string{"f"}}, {"n", "b", "http", nil}, {"n", "b", "", nil}, {"n", "c", "tcp", nil}, {"other", "a", "tcp", nil}} {
		if wrong := m.PutBackend(ProxyPlace{c.node, c.name}, c.mode); !slices.Equal(wrong, c.wrong) {
			t.Errorf("backend %s on %s in mode %q: %v", c.name, c.node, c.mode, wrong)
		}
	}
	for mode, want := range map[string][]string{"http": {"a"}, "tcp": nil, "": nil} {
		if wrong := m.PutFrontend(ProxyPlace{"n", "g"}, FrontendUse{mode, []string{"a", "b", "later"}}); !slices.Equal(wrong, want) {
			t.Errorf("frontend in mode %q: %v", mode, wrong)
		}
	}
	m.PutFrontend(ProxyPlace{"n", "f"}, FrontendUse{"tcp", []string{"a"}}) // planned anew
	m.PutFrontend(ProxyPlace{"n", "g"}, FrontendUse{"tcp", []string{"a"}})
	if wrong := m.PutBackend(ProxyPlace{"n", "a"}, "tcp"); wrong != nil {
		t.Errorf("a frontend that changed: %v", wrong)
	}
}
