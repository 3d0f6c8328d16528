package storage

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"libvirt.org/go/libvirtxml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/metadata"
)

// PoolInUseError says that a pool cannot be removed because others need what is in it.
type PoolInUseError struct {
	Pool string
	// Users are others', and Own what this state has there still. Exported are its volumes on an export, which are there without the pool: they may be
	// another hypervisor's, and those of a configuration that names the pool go in time.
	Users, Own, Exported []string
}

func (e *PoolInUseError) Error() string {
	if len(e.Users) == 0 {
		return fmt.Sprintf("storage pool %q still has %s of this state: remove those first, in a configuration by referring to the pool as virtcluster_storage_pool.NAME.name instead of writing its name, so that they go before it",
			e.Pool, strings.Join(e.Own, ", "))
	}
	return fmt.Sprintf("storage pool %q is needed by %s: remove those first, or leave the pool to them with: terraform state rm ADDRESS", e.Pool, strings.Join(e.Users, ", "))
}

// MayDelete implements crud.Keeper. What this state has in the pool may go with it.
func (s *PoolStore) MayDelete(ctx context.Context) error {
	p, err := s.Client.Pool(ctx, s.UUID)
	if err != nil {
		return nil //nolint:nilerr // the apply tells
	}
	if inUse, err := s.findUsers(ctx, p); err == nil && inUse != nil && len(inUse.Users) > 0 {
		return inUse
	}
	return nil
}

// awaitUnused returns when nothing needs a pool any more: what this state has in it may be about to go, where the configuration names
// the pool without referring to it. It returns a *PoolInUseError for what is others', and for what is still there after a while.
func (s *PoolStore) awaitUnused(ctx context.Context, p *hypervisor.Pool) error {
	err := hypervisor.Retry(ctx, usersPatience, 200*time.Millisecond, func() (bool, error) {
		inUse, err := s.findUsers(ctx, p)
		if err != nil || inUse == nil {
			return false, err
		}
		return len(inUse.Users) == 0, inUse
	})
	if inUse := (*PoolInUseError)(nil); errors.As(err, &inUse) && len(inUse.Users)+len(inUse.Own) == 0 {
		return nil
	}
	return err
}

// takesDevices says of a pool that stopping it takes block devices from whoever has them: that of a target of iSCSI logs out, and that of a volume group
// has its volumes deactivated.
func takesDevices(p *hypervisor.Pool) bool { return p.Type() == ISCSI || p.Type() == Logical }

// checkStop finds machines that run with a disk of a pool whose devices go when it stops, and what the hypervisor does with one.
func (s *PoolStore) checkStop(ctx context.Context, p *hypervisor.Pool) error {
	if !takesDevices(p) {
		return nil
	}
	inUse := &PoolInUseError{Pool: p.Name()}
	devices, err := s.listDevices(ctx, p, inUse)
	if err != nil {
		return err
	}
	domains, err := s.Client.Domains(ctx)
	if err != nil {
		return err
	}
	for _, d := range domains {
		if d.Active() && (hasDiskIn(d.Live, p) || s.hasDevice(ctx, devices, d.Live)) {
			inUse.Users = append(inUse.Users, fmt.Sprintf("the domain %q, which runs", d.Name))
		}
	}
	if len(inUse.Users) > 0 {
		return inUse
	}
	return nil
}

// findUsers returns what needs a pool: volumes with owners' marks, and machines with disks in it. A file that nobody marked and no
// machine has needs no pool. It returns nil where nothing does.
func (s *PoolStore) findUsers(ctx context.Context, p *hypervisor.Pool) (*PoolInUseError, error) {
	workspace := s.Owner.Mark().Workspace
	inUse := &PoolInUseError{Pool: p.Name()}
	note := func(whose, what string) {
		if whose != "" && whose == workspace {
			inUse.Own = append(inUse.Own, what)
		} else {
			inUse.Users = append(inUse.Users, what)
		}
	}
	devices, err := s.listDevices(ctx, p, inUse)
	if err != nil {
		return nil, err
	}
	if p.Active {
		// What somebody removed behind libvirt's back needs nothing.
		if _, err := s.refreshPool(ctx, p); err != nil && !hypervisor.IsNotFound(err) {
			return nil, err
		}
		names, err := s.Client.VolumeNames(ctx, p.UUID())
		if err != nil && !errors.Is(err, hypervisor.ErrPoolStopped) && !hypervisor.IsNotFound(err) {
			return nil, err
		}
		for _, name := range names {
			volume, m, ok := parseMarkName(name)
			if !ok || !slices.Contains(names, volume) {
				continue
			}
			switch {
			case p.Type() == NetFS && m.Workspace != workspace:
				// It stays where it is exported from, and another hypervisor may have it.
			case p.Type() == NetFS:
				inUse.Exported = append(inUse.Exported, volume)
			case m.Workspace == workspace:
				note(m.Workspace, "the volume "+volume)
			default:
				note(m.Workspace, fmt.Sprintf("the volume %s of another state (owner %s)", volume, m.ID))
			}
		}
	}
	domains, err := s.Client.Domains(ctx)
	if err != nil {
		return nil, err
	}
	for _, d := range domains {
		if hasDiskIn(d.Config, p) || hasDiskIn(d.Live, p) || s.hasDevice(ctx, devices, d.Config, d.Live) {
			note(metadata.MachineWorkspace(d.Config), fmt.Sprintf("the domain %q", d.Name))
		}
	}
	if len(inUse.Users)+len(inUse.Own)+len(inUse.Exported) == 0 {
		return nil, nil
	}
	return inUse, nil
}

// listDevices returns the block devices of a pool that go when it stops, by the kernel's names, and notes what the hypervisor itself does with them: they
// are taken from whoever has them, by whichever path. It returns none where nobody can look.
func (s *PoolStore) listDevices(ctx context.Context, p *hypervisor.Pool, inUse *PoolInUseError) (devices map[string]bool, err error) {
	if !takesDevices(p) || !p.Active {
		return nil, nil
	}
	volumes, err := s.Client.Volumes(ctx, p.UUID())
	if err != nil && !errors.Is(err, hypervisor.ErrPoolStopped) && !hypervisor.IsNotFound(err) {
		return nil, err
	}
	var paths []string
	for _, v := range volumes {
		paths = append(paths, v.Path())
	}
	found, err := s.Client.BlockDevices(ctx, paths...)
	if errors.Is(err, hypervisor.ErrNoAccess) {
		return nil, nil
	}
	devices = map[string]bool{}
	for _, device := range found {
		devices[device.Path] = true
		for _, user := range device.Users {
			inUse.Users = append(inUse.Users, fmt.Sprintf("the hypervisor itself (%s)", user))
		}
	}
	return devices, err
}

// hasDevice says whether a domain has one of some block devices as a disk, by whichever path, as one of its definitions says. Disks that cannot be looked
// at may be some.
func (s *PoolStore) hasDevice(ctx context.Context, devices map[string]bool, definitions ...*libvirtxml.Domain) bool {
	var paths []string
	for _, d := range definitions {
		hasDisk(d, func(disk libvirtxml.DomainDisk) bool {
			if source := disk.Source; source != nil && source.Block != nil && !slices.Contains(paths, source.Block.Dev) {
				paths = append(paths, source.Block.Dev)
			}
			return false
		})
	}
	if len(devices) == 0 {
		return false
	}
	found, err := s.Client.BlockDevices(ctx, paths...)
	return err != nil || slices.ContainsFunc(found, func(d hypervisor.BlockDevice) bool { return devices[d.Path] })
}

// hasDiskIn says whether a domain has a disk in a pool: by the pool's name, in its directory, or of what it is made from.
func hasDiskIn(d *libvirtxml.Domain, p *hypervisor.Pool) bool {
	return hasDisk(d, func(disk libvirtxml.DomainDisk) bool {
		switch source := disk.Source; {
		case source == nil:
			return false
		case source.Volume != nil:
			return source.Volume.Pool == p.Name()
		case source.File != nil:
			return p.Path() != "" && SamePath(path.Dir(source.File.File), p.Path())
		case source.Block != nil:
			return isDeviceOf(source.Block.Dev, p)
		case source.Network != nil:
			return p.Type() == RBD && source.Network.Protocol == "rbd" && strings.HasPrefix(source.Network.Name, newPool(p).Source.Name+"/")
		}
		return false
	})
}

// isDeviceOf says whether a block device is a volume of a pool's. All targets of iSCSI have theirs in one directory, by names that say which they are of.
func isDeviceOf(device string, p *hypervisor.Pool) bool {
	if p.Path() == "" || !strings.HasPrefix(device, path.Clean(p.Path())+"/") {
		return false
	}
	return p.Type() != ISCSI || strings.Contains(device, "-iscsi-"+newPool(p).Source.Target+"-lun-")
}
