package node

import (
	"fmt"
	"maps"
	"slices"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/machine"
)

// consider says whether what runs must be restarted for the change, and fails where that is not allowed: since it was
// planned, somebody else may have taken the machine's last port.
func (u *changer) consider() error {
	crashed := u.d.State == "crashed" // it is started anew anyway
	u.mustRestart = crashed || len(restarts(u.prior, u.v)) > 0
	if crashed || !u.d.Active() || !u.v.Running.ValueBool() {
		return nil
	}
	unpluggable, err := u.v.unpluggable(u.d, u.was, u.prior)
	if err != nil || len(unpluggable) == 0 {
		return err
	}
	u.mustRestart = true
	if first := unpluggable[0]; !u.v.AllowRestart.ValueBool() {
		return service.At(first.Path, fmt.Errorf("the node runs, and %w: set allow_restart = true, which has it restarted in the same apply, or running = false first", first.Err))
	}
	return nil
}

// unpluggable lists what is to be plugged into a running machine, or out of it, and cannot be, in the order in which an
// update would come to it: what is removed goes last, and gives no room to what is new.
func (v *version) unpluggable(d *hypervisor.Domain, was *machine.Machine, prior *version) ([]*service.AttributeError, error) {
	room, err := machine.RoomOf(d.Live)
	if err != nil {
		return nil, err
	}
	var all []*service.AttributeError
	note := func(path []any, err error) {
		if err != nil {
			all = append(all, &service.AttributeError{Path: path, Err: err})
		}
	}
	for _, key := range slices.Sorted(maps.Keys(v.parts.Disks)) {
		disk, had := v.parts.Disks[key], was.Disk(key)
		path := at("disks", service.Key(key))
		if had != nil && disk.same(had, prior.parts.Disks[key]) || disk.Bus.IsUnknown() {
			continue
		}
		if had != nil {
			if err := room.UnplugDisk(had.Bus); err != nil {
				note(path, err)
				continue
			}
		}
		note(path, room.PlugDisk(disk.Bus.ValueString()))
	}
	if v.seeded() && was.Disk(machine.Seed) == nil {
		note(v.seedPath(), room.PlugDisk("virtio"))
	}
	v.unpluggableInterfaces(d, was, room, note)
	for _, had := range was.Disks {
		_, wanted := v.parts.Disks[had.Key]
		if !wanted && had.Key != machine.Root && had.Key != machine.Seed && !v.model.Disks.IsUnknown() {
			note(at("disks", service.Key(had.Key)), room.UnplugDisk(had.Bus))
		}
	}
	return all, nil
}

// unpluggableInterfaces does the same for interfaces. One that gets another model or MTU is plugged out and in again.
func (v *version) unpluggableInterfaces(d *hypervisor.Domain, was *machine.Machine, room *machine.Room, note func([]any, error)) {
	for n, i := range v.parts.Interfaces {
		mac := canonicalMAC(i.MAC.ValueString())
		index := slices.IndexFunc(was.Interfaces, func(x machine.Interface) bool { return x.MAC == mac })
		plugged := index >= 0 && machine.FindInterface(d.Live, mac) != nil
		if plugged && (i.Model.IsUnknown() || was.Interfaces[index].Model == i.Model.ValueString()) {
			continue
		}
		if plugged {
			room.UnplugInterface(was.Interfaces[index].Model)
		}
		if !i.Model.IsUnknown() {
			note(at("network_interfaces", n), room.PlugInterface(i.Model.ValueString()))
		}
	}
}

// same says whether a disk stays as the machine has it. A volume may be called by another path than it was resolved to.
func (m *diskModel) same(had *machine.Disk, prior diskModel) bool {
	volume := !known(m.Volume) || m.Volume.ValueString() == had.Path || m.Volume.Equal(prior.Volume)
	lostOne := m.Volume.IsNull() && known(prior.SizeGiB) && prior.SizeGiB.ValueInt64() == lost
	return volume && !lostOne && m.Bus.ValueString() == had.Bus
}

// seedPath is the attribute that the cloud-init disk is there for.
func (v *version) seedPath() []any {
	if v.parts.CloudInit != nil {
		return at("cloud_init")
	}
	return at("network_interfaces")
}
