package storage

import (
	"context"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
)

// Two hypervisors may have one storage, such as an export that is a pool of both: what is deleted on one is gone on the other, whose guests only that
// one knows.

// othersPatience bounds how long another hypervisor is waited for that need not have the storage in question.
const othersPatience = 10 * time.Second

// findAnywhere returns what find finds that uses volumes of a hypervisor: there, and then on the provider's other hypervisors, with the same files as
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
	if len(others) == 0 {
		return nil, nil
	}
	exported := slices.ContainsFunc(volumes, func(v *hypervisor.Volume) bool { return slices.Contains(here.exports, v.Pool) })
	found := make([]*InUseError, len(others))
	asks, ctx := errgroup.WithContext(ctx)
	for i, other := range others {
		asks.Go(func() (err error) {
			found[i], err = findElsewhere(ctx, here, other, volumes, exported, find)
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
func findElsewhere(ctx context.Context, here survey, other *hypervisor.Client, volumes []*hypervisor.Volume, exported bool, find func(survey, []*hypervisor.Volume) (*InUseError, error)) (*InUseError, error) {
	if !exported {
		var cancel func()
		ctx, cancel = context.WithTimeout(ctx, othersPatience)
		defer cancel()
	}
	there, err := surveyDisks(ctx, other)
	switch {
	case err != nil && exported:
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
	// What lies beside the files was seen from here.
	there.elsewhere = true
	there.volumes = slices.DeleteFunc(slices.Clone(there.volumes), func(v *hypervisor.Volume) bool {
		return slices.ContainsFunc(same, func(s *hypervisor.Volume) bool { return s.Pool == v.Pool })
	})
	inUse, err := find(there, same)
	if inUse != nil {
		for i := range inUse.Users {
			inUse.Users[i] += " of hypervisor " + other.URI()
		}
	}
	return inUse, err
}

// findSame returns the volumes of a survey that are the very files of volumes of another one: a mark beside them is one file.
func (s survey) findSame(here survey, volumes []*hypervisor.Volume) []*hypervisor.Volume {
	var same []*hypervisor.Volume
	for _, there := range s.volumes {
		if volume, _, ok := parseMarkName(there.Name()); ok && slices.ContainsFunc(volumes, func(v *hypervisor.Volume) bool {
			return v.Name() == volume && slices.ContainsFunc(here.volumes, func(mark *hypervisor.Volume) bool {
				return mark.Pool == v.Pool && mark.Name() == there.Name() && isOneFile(mark, there)
			})
		}) {
			at := slices.IndexFunc(s.volumes, func(v *hypervisor.Volume) bool { return v.Pool == there.Pool && v.Name() == volume })
			if at >= 0 {
				same = append(same, s.volumes[at])
			}
		}
	}
	return same
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
