package node

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/types"
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
			v := version{model: model{MemoryMiB: types.Int64Value(128), VCPUs: types.Int64Value(2)}} // as its configuration was read
			v.fillLive(d, types.Int64Value(c.state[0]), types.Int64Value(c.state[1]))
			if v.MemoryMiB.ValueInt64() != c.memory || v.VCPUs.ValueInt64() != c.vcpus {
				t.Errorf("shown are %s MiB and %s vCPUs, want %d and %d", v.MemoryMiB, v.VCPUs, c.memory, c.vcpus)
			}
		})
	}
}
