package hypervisor

import (
	"slices"
	"testing"
)

// QEMU's emulation can do svm, and offers a processor of AMD's, whose models have it without saying so.
func TestAccAProcessorHasTheFeaturesOfItsModel(t *testing.T) {
	c := sandbox(t)
	caps, err := c.DomainCapabilities(t.Context(), "qemu", "q35")
	if err != nil {
		t.Fatal(err)
	}
	got, err := c.HostModelFeatures(t.Context(), caps)
	if err != nil || !slices.Contains(got, "svm") || slices.Contains(got, "topoext") {
		t.Errorf("features of %v are %v: %v", caps.CPU.Modes, got, err)
	}
}
