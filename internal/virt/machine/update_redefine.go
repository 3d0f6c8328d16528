package machine

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"libvirt.org/go/libvirtxml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/failpoint"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/metadata"
)

// redefineMachine replaces the configuration and restarts the machine where it runs. A configuration that libvirt
// refuses changes nothing; one with which the machine does not start is taken back.
func (u *update) redefineMachine(ctx context.Context) error {
	old, err := u.d.Config.Marshal()
	if err != nil {
		return fmt.Errorf("cannot render domain %q: %w", u.d.Name, err)
	}
	u.machine.Mark.setMaking(u.volumes)
	if err := Apply(u.d.Config, u.machine); err != nil {
		return err
	}
	if u.d.Active() {
		if err := metadata.SetRevision(u.d.Config, uuid.NewString()); err != nil {
			return err
		}
	}
	if err := u.checkVariableStore(ctx); err != nil {
		return err
	}
	if err := u.c.DefineDomain(ctx, u.d.Config); err != nil {
		return err
	}
	u.former = old
	failpoint.Hit("node/redefined")
	if err := checkPatch(ctx, u.c, u.d.UUID, u.want.Patch); err != nil {
		return err
	}
	if err := u.createParts(ctx); err != nil {
		return err
	}
	if u.machine.Mark.setMaking(nil); len(u.volumes) > 0 {
		if err := writeMark(ctx, u.c, u.machine, false); err != nil {
			return err
		}
	}
	if u.d.Active() {
		if err := u.c.StopDomain(ctx, u.d.UUID, u.want.shutdownGrace()); err != nil {
			return err
		}
	}
	if err := u.replaceVariableStore(ctx); err != nil {
		return err
	}
	if u.d.Active() && u.want.Running {
		return u.startMachine(ctx)
	}
	return nil
}

// restoreDefinition puts the configuration back as it was.
func (u *update) restoreDefinition(ctx context.Context) error {
	before := &libvirtxml.Domain{}
	if err := before.Unmarshal(u.former); err != nil {
		return err
	}
	if err := u.c.DefineDomain(ctx, before); err != nil {
		return err
	}
	return u.restoreVariableStore(ctx)
}

// createParts makes new volumes, reservations and ports, and grows disks.
func (u *update) createParts(ctx context.Context) error {
	u.onFailure(u.removeCreatedVolumes)
	if err := u.volumeOwner.createVolumes(ctx, u.volumes); err != nil {
		return err
	}
	failpoint.Hit("node/extended")
	if err := u.reserveAddresses(ctx); err != nil {
		return err
	}
	if err := u.putPorts(ctx); err != nil {
		return err
	}
	return u.growDisks(ctx)
}

// removeCreatedVolumes removes the new volumes that no disk of the machine refers to: a change that failed half-way leaves the
// plugged ones to the next apply.
func (u *update) removeCreatedVolumes(ctx context.Context) error {
	d, err := u.c.Domain(ctx, u.d.UUID)
	if err != nil {
		return err
	}
	plugged := func(v ownVolume) bool {
		return DiskAt(d.Config, v.filePath()) != nil || DiskAt(d.Live, v.filePath()) != nil || Read(d.Config).IgnitionFile == v.filePath()
	}
	for i := range u.volumes {
		v := &u.volumes[i]
		if !v.made || plugged(*v) {
			continue
		}
		if err := u.volumeOwner.removeVolume(ctx, v.volumeRef()); err != nil {
			return err
		}
		v.made = false
	}
	return nil
}
