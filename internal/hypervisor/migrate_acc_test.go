package hypervisor

import (
	"strings"
	"testing"

	"libvirt.org/go/libvirtxml"
)

// QEMU's emulation runs a Nehalem, and has no AVX-512.
func TestAccAProcessorThatAHypervisorLacksIsTold(t *testing.T) {
	c := sandbox(t)
	for name, feature := range map[string]string{"a processor that it has": "", "a feature that it lacks": "avx512f"} {
		t.Run(name, func(t *testing.T) {
			d := &libvirtxml.Domain{
				Name: "n", Type: "qemu", OS: &libvirtxml.DomainOS{Type: &libvirtxml.DomainOSType{Arch: "x86_64", Machine: "q35", Type: "hvm"}},
				CPU: &libvirtxml.DomainCPU{Mode: "custom", Match: "exact", Model: &libvirtxml.DomainCPUModel{Value: "Nehalem", Fallback: "forbid"}},
			}
			if feature != "" {
				d.CPU.Features = []libvirtxml.DomainCPUFeature{{Policy: "require", Name: feature}}
			}
			lacks, err := c.LacksForCPU(t.Context(), d)
			if err != nil || !strings.Contains(lacks, feature) || (lacks != "") != (feature != "") {
				t.Errorf("it lacks %q: %v", lacks, err)
			}
		})
	}
	caps, err := c.HostCapabilities(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if lacks, err := c.LacksForHost(t.Context(), caps); lacks != "" || err != nil {
		t.Errorf("the machine lacks %q of its own processor: %v", lacks, err)
	}
}
