package acctest

import "testing"

// TestMachinesAreOnlyAskedForWithinTheSandbox runs where TF_ACC is not set, as the listing of tests does: whatever a test asks for first, it is
// skipped there.
func TestMachinesAreOnlyAskedForWithinTheSandbox(t *testing.T) {
	t.Setenv("TF_ACC", "")
	for name, ask := range map[string]func(*testing.T){
		"service nodes":              func(t *testing.T) { ServiceNodes(t, 99) },
		"service nodes by SSH":       func(t *testing.T) { KnownServiceNodes(t, 99) },
		"further hypervisors by SSH": func(t *testing.T) { Hypervisors(t, 99) },
	} {
		skipped := false
		t.Run(name, func(t *testing.T) {
			defer func() { skipped = t.Skipped() }()
			ask(t)
		})
		if !skipped {
			t.Errorf("%s: goes on", name)
		}
	}
}
