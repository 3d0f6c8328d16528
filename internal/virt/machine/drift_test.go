package machine

import (
	"testing"

	"libvirt.org/go/libvirtxml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
)

func TestOnlyWhatSomebodyChangedAliveIsDrift(t *testing.T) {
	domain := func(kib, vcpus uint) *libvirtxml.Domain {
		return &libvirtxml.Domain{
			Memory: &libvirtxml.DomainMemory{Value: 256 << 10, Unit: "KiB"}, CurrentMemory: &libvirtxml.DomainCurrentMemory{Value: kib, Unit: "KiB"},
			VCPU: &libvirtxml.DomainVCPU{Value: 4, Current: vcpus},
		}
	}
	for name, c := range map[string]struct {
		live          *libvirtxml.Domain
		state         [2]int64 // memory and vCPUs
		memory, vcpus int64
	}{
		"stopped":                                {nil, [2]int64{128, 2}, 128, 2},
		"as configured":                          {domain(128<<10, 2), [2]int64{128, 2}, 128, 2},
		"the balloon is not up yet":              {domain(256<<10, 2), [2]int64{128, 2}, 128, 2},
		"the guest has not given all back yet":   {domain(150<<10+4, 2), [2]int64{128, 2}, 128, 2},
		"a page was kept":                        {domain(128<<10-4, 2), [2]int64{128, 2}, 128, 2},
		"less memory":                            {domain(100<<10, 2), [2]int64{128, 2}, 100, 2},
		"less vCPUs":                             {domain(128<<10, 1), [2]int64{128, 2}, 128, 1},
		"more vCPUs":                             {domain(128<<10, 3), [2]int64{128, 2}, 128, 3},
		"the configuration drifted, so it shows": {domain(100<<10, 1), [2]int64{64, 4}, 128, 2},
	} {
		t.Run(name, func(t *testing.T) {
			d := &hypervisor.Domain{Config: domain(128<<10, 2), Live: c.live}
			memory, vcpus := chooseShownSizes(d, 128, 2, c.state[0], c.state[1]) // as its configuration was read, and as state has it
			if memory != c.memory || vcpus != c.vcpus {
				t.Errorf("shown are %d MiB and %d vCPUs, want %d and %d", memory, vcpus, c.memory, c.vcpus)
			}
		})
	}
}
