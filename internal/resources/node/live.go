package node

import (
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/machine"
)

// astray says whether somebody changed the memory or the vCPUs of what runs and not of its configuration.
//
// vCPUs are what libvirt plugged in, and always exact. Memory is what the guest's balloon driver has left the guest
// with, so more than is configured says nothing: that is how a guest starts, how one without a driver stays, and what
// one has that cannot spare as much. Less is only what somebody asked for, as drivers give back at once.
func astray(d *hypervisor.Domain) (memory, vcpus bool, live *machine.Machine) {
	if !d.Active() {
		return false, false, nil
	}
	config := machine.Read(d.Config)
	live = machine.Read(d.Live)
	if left := d.Live.CurrentMemory; left != nil && left.Unit == "KiB" {
		live.Memory = (int64(left.Value) + 1023) >> 10 // a driver may keep a few pages
	}
	return live.Memory < config.Memory, live.VCPUs != config.VCPUs, live
}

// fillLive shows what went astray where the configuration is as state had it before: else that is the drift to tell.
func (v *version) fillLive(d *hypervisor.Domain, hadMemory, hadVCPUs types.Int64) {
	memory, vcpus, live := astray(d)
	if memory && v.MemoryMiB.Equal(hadMemory) {
		v.MemoryMiB = types.Int64Value(live.Memory)
	}
	if vcpus && v.VCPUs.Equal(hadVCPUs) {
		v.VCPUs = types.Int64Value(live.VCPUs)
	}
}
