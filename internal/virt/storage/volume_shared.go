package storage

import (
	"context"
	"fmt"
	"path"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	"libvirt.org/go/libvirtxml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
)

// Two hypervisors may have one storage, such as an export that is a pool of both: what is deleted on one is gone on the other, whose guests only that
// one knows.

// othersPatience bounds how long another hypervisor is waited for that need not have the storage in question.
const othersPatience = 10 * time.Second

// findAnywhere returns what find finds that uses volumes of a hypervisor: there, and then on the provider's other hypervisors, with the same volumes as
// those have them. The error says which hypervisor could not be asked; where the volumes are in no pool that is of a network by its type, one that does
// not answer is taken to have other storage.
func findAnywhere(ctx context.Context, c *hypervisor.Client, volumes []*hypervisor.Volume, find func(survey, []*hypervisor.Volume) (*InUseError, error)) (*InUseError, error) {
	here, err := surveyDisks(ctx, c)
	if err != nil {
		return nil, err
	}
	if inUse, err := find(here, volumes); inUse != nil || err != nil {
		return inUse, err
	}
	others := c.ListOthers(ctx)
	found := make([]*InUseError, len(others))
	asks, ctx := errgroup.WithContext(ctx)
	for i, other := range others {
		asks.Go(func() (err error) {
			found[i], err = findElsewhere(ctx, here, other, volumes, find)
			return err
		})
	}
	if err := asks.Wait(); err != nil {
		return nil, err
	}
	at := slices.IndexFunc(found, func(e *InUseError) bool { return e != nil })
	if at < 0 {
		return nil, nil
	}
	return found[at], nil
}

// findElsewhere returns what find finds on another hypervisor that uses volumes of here.
func findElsewhere(ctx context.Context, here survey, other *hypervisor.Client, volumes []*hypervisor.Volume, find func(survey, []*hypervisor.Volume) (*InUseError, error)) (*InUseError, error) {
	remote := slices.ContainsFunc(volumes, func(v *hypervisor.Volume) bool { return here.findRemotePool(v) != nil })
	if !remote {
		var cancel func()
		ctx, cancel = context.WithTimeout(ctx, othersPatience)
		defer cancel()
	}
	there, err := surveyDisks(ctx, other)
	switch {
	case err != nil && remote:
		return nil, fmt.Errorf("%s may have this storage too, and cannot be asked for guests that use it: have it answer, or write lost = true for it in the provider's hypervisors where it is gone for good: %w", other.URI(), err)
	case err != nil:
		return nil, nil //nolint:nilerr // it most likely has other storage
	}
	same := there.findSame(here, volumes)
	if len(same) == 0 {
		return nil, nil
	}
	if one, err := isOneMachine(ctx, here.client, other); one || err != nil {
		return nil, err
	}
	// What lies beside the files was seen from here, where both call them the same.
	there.elsewhere = true
	there.volumes = slices.DeleteFunc(slices.Clone(there.volumes), func(v *hypervisor.Volume) bool {
		return slices.ContainsFunc(here.volumes, func(seen *hypervisor.Volume) bool { return seen.Path() == v.Path() && seen.Backing() == v.Backing() }) &&
			slices.ContainsFunc(same, func(s *hypervisor.Volume) bool { return s.Pool == v.Pool && path.Dir(s.Path()) == path.Dir(v.Path()) })
	})
	inUse, err := find(there, same)
	if inUse != nil {
		for i := range inUse.Users {
			inUse.Users[i] += " of hypervisor " + other.URI()
		}
	}
	return inUse, err
}

// findSame returns what a survey has that is the very same as volumes of another one: a mark beside both is one file, both have one id of LVM's, or both
// are of one name in pools of one source elsewhere, be the pool started or not. A machine may have an export mounted without a pool.
func (s survey) findSame(here survey, volumes []*hypervisor.Volume) []*hypervisor.Volume {
	var same []*hypervisor.Volume
	for _, there := range s.volumes {
		if slices.ContainsFunc(volumes, func(v *hypervisor.Volume) bool {
			return here.isMarkedAlike(v, s, there) || here.isLVMAlike(v, s, there)
		}) {
			same = append(same, there)
		}
	}
	for _, v := range volumes {
		from := here.findRemotePool(v)
		if from == nil {
			continue
		}
		for _, p := range s.pools {
			is, was := newPool(p), newPool(from)
			if is.Type != was.Type || is.Source == nil || is.Source.Name != was.Source.Name || is.Source.Path != was.Source.Path || !sameHosts(is.Source.Hosts, was.Source.Hosts) {
				continue
			}
			same = append(same, newVolumeAt(v, p.Name(), path.Join(p.Path(), v.Name())))
		}
		if !slices.ContainsFunc(s.pools, func(p *hypervisor.Pool) bool { return p.Path() != "" && SamePath(p.Path(), path.Dir(v.Path())) }) {
			same = append(same, newVolumeAt(v, "", v.Path()))
		}
	}
	return same
}

// newVolumeAt is a volume as a pool of another hypervisor has it.
func newVolumeAt(v *hypervisor.Volume, pool, file string) *hypervisor.Volume {
	return &hypervisor.Volume{Pool: pool, XML: libvirtxml.StorageVolume{Type: v.XML.Type, Name: v.Name(), Target: &libvirtxml.StorageVolumeTarget{Path: file}}}
}

// findRemotePool returns the pool of a volume where it is another machine's directory or a pool of Ceph's; else nil.
func (s survey) findRemotePool(v *hypervisor.Volume) *hypervisor.Pool {
	at := slices.IndexFunc(s.pools, func(p *hypervisor.Pool) bool { return p.Name() == v.Pool })
	if at < 0 || s.pools[at].Type() != NetFS && s.pools[at].Type() != RBD || newPool(s.pools[at]).Source == nil {
		return nil
	}
	return s.pools[at]
}

// isMarkedAlike says whether a mark stands beside a volume, and beside one of another survey, that is one file.
func (s survey) isMarkedAlike(v *hypervisor.Volume, other survey, there *hypervisor.Volume) bool {
	return v.Name() == there.Name() && slices.ContainsFunc(s.volumes, func(mark *hypervisor.Volume) bool {
		volume, _, ok := parseMarkName(mark.Name())
		return ok && volume == v.Name() && mark.Pool == v.Pool && slices.ContainsFunc(other.volumes, func(m *hypervisor.Volume) bool {
			return m.Pool == there.Pool && m.Name() == mark.Name() && isOneFile(mark, m)
		})
	})
}

// isLVMAlike says whether a volume of a volume group has the id of one of another survey.
func (s survey) isLVMAlike(v *hypervisor.Volume, other survey, there *hypervisor.Volume) bool {
	isIn := func(s survey, v *hypervisor.Volume) bool {
		return slices.ContainsFunc(s.pools, func(p *hypervisor.Pool) bool { return p.Name() == v.Pool && p.Type() == Logical })
	}
	return v.XML.Key != "" && v.XML.Key == there.XML.Key && isIn(s, v) && isIn(other, there)
}

// isOneMachine says whether two hypervisors are one by two names.
func isOneMachine(ctx context.Context, a, b *hypervisor.Client) (bool, error) {
	of, err := a.HostCapabilities(ctx)
	if err != nil {
		return false, err
	}
	as, err := b.HostCapabilities(ctx)
	return err == nil && of.Host.UUID != "" && of.Host.UUID == as.Host.UUID, err
}
