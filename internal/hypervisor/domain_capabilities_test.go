package hypervisor

import (
	"strings"
	"testing"

	"libvirt.org/go/libvirtxml"
)

func TestTheHypervisorsOwnProcessorIsAskedAbout(t *testing.T) {
	caps := func(supported string) *libvirtxml.DomainCaps {
		return &libvirtxml.DomainCaps{CPU: &libvirtxml.DomainCapsCPU{Modes: []libvirtxml.DomainCapsCPUMode{
			{Name: "host-passthrough", Supported: "yes"},
			{Name: "host-model", Supported: supported, Models: []libvirtxml.DomainCapsCPUModel{{Name: "EPYC"}}, Vendor: "AMD", Features: []libvirtxml.DomainCapsCPUFeature{{Policy: "disable", Name: "svm"}}},
		}}}
	}
	got, err := renderHostModel(caps("yes"))
	for _, want := range []string{"<model>EPYC</model>", `policy="disable" name="svm"`} {
		t.Run(want, func(t *testing.T) {
			if err != nil || !strings.Contains(got, want) {
				t.Errorf("it lacks %s: %v\n%s", want, err, got)
			}
		})
	}
	for name, c := range map[string]*libvirtxml.DomainCaps{"not offered": caps("no"), "nothing known": {}} {
		t.Run(name, func(t *testing.T) {
			if got, err := renderHostModel(c); got != "" || err != nil {
				t.Errorf("%s: %q, %v", name, got, err)
			}
		})
	}
}
