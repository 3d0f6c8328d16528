package fleet

import (
	"errors"
	"testing"
)

func TestALostHypervisorIsNotAsked(t *testing.T) {
	t.Parallel()
	f := New(Config{URI: "test:///default", Hypervisors: map[string]string{"kvm1": "test:///default", "kvm2": "qemu+ssh://kvm2/system"}, Lost: map[string]bool{"kvm1": false, "kvm2": true}})
	defer f.Close()
	for name, ask := range map[string]func() error{
		"its client":  func() error { _, err := f.Hypervisor(t.Context(), "kvm2"); return err },
		"its machine": func() error { _, err := f.HostOf("kvm2"); return err },
	} {
		t.Run(name, func(t *testing.T) {
			if err := ask(); !errors.As(err, new(*LostError)) || !errors.Is(err, ErrUnknown) {
				t.Errorf("got %v", err)
			}
		})
	}
	if lost := f.ListLost(); len(lost) != 1 || lost[0] != "kvm2" {
		t.Errorf("lost are %q", lost)
	}
	all, err := f.All(t.Context())
	if _, there := all["kvm2"]; err != nil || there || len(all) != 2 {
		t.Errorf("all are %v, %v", all, err)
	}
}

// What is on none of the hypervisors that are known is not gone while there may be others.
func TestWithoutTheNamesOfHypervisorsNobodyKnowsAll(t *testing.T) {
	t.Parallel()
	f := New(Config{URI: "test:///default", HypervisorsUnknown: true})
	defer f.Close()
	if all, err := f.All(t.Context()); !errors.Is(err, ErrUnknown) {
		t.Errorf("all are %v, %v", all, err)
	}
	if err := f.CheckNames(); !errors.Is(err, ErrUnknown) {
		t.Errorf("the names are known: %v", err)
	}
}
