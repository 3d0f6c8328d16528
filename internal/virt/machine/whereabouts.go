package machine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/terraform-plugin-log/tflog"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/plan"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// isMoving says whether a move to another hypervisor was begun and has not come to its end.
func (k *Mark) isMoving() bool { return k.Departure != nil || k.Arrival != nil }

// findWhereItIs reads the machine's domain where it is: on its hypervisor, or on another one of the provider's, to which a run that was
// killed has brought it, or a person. From then on the store is that of where it is.
func (s *Store) findWhereItIs(ctx context.Context) (*hypervisor.Domain, error) {
	d, err := s.findDomain(ctx)
	if s.known.UUID == "" || err != nil && !errors.Is(err, service.ErrAbsent) {
		return d, err
	}
	if err == nil {
		departure := Read(d.Config).Mark.Departure
		if departure == nil || d.State == "running" {
			return d, nil
		}
		there, name, look := s.findAt(ctx, departure.To)
		if look != nil || there == nil || Read(there.Config).Mark.Arrival == nil {
			return d, look
		}
		s.goTo(name)
		return there, nil
	}
	for _, name := range slices.Sorted(maps.Keys(s.others)) {
		there, _, look := s.findAt(ctx, name)
		if _, unreachable := errors.AsType[*hypervisor.UnreachableError](look); unreachable {
			tflog.Warn(ctx, "a node that is gone was not looked for on a hypervisor that does not answer", map[string]any{"node": s.known.Name, "hypervisor": name})
			continue
		}
		if look != nil {
			return nil, look
		}
		if there != nil {
			s.goTo(name)
			return there, nil
		}
	}
	return nil, err
}

// findAt returns the machine's domain on another hypervisor, where it is defined and carries the machine's mark; nil where it does not.
func (s *Store) findAt(ctx context.Context, name string) (d *hypervisor.Domain, at string, err error) {
	c, err := s.findHypervisor(name)
	if err != nil || c == s.client {
		return nil, name, err
	}
	d, err = s.findArrived(ctx, c)
	return d, name, err
}

// findArrived returns the machine's domain on a hypervisor, where it is defined there and carries the machine's mark; nil where it is not, or
// is one that a migration is still filling.
func (s *Store) findArrived(ctx context.Context, c *hypervisor.Client) (*hypervisor.Domain, error) {
	d, err := c.Domain(ctx, s.known.UUID)
	if hypervisor.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if !s.claim.Owns(Read(d.Config).Mark.ownerMark()) {
		return nil, nil
	}
	persistent, err := c.IsPersistent(ctx, d.UUID)
	if hypervisor.IsNotFound(err) || err == nil && !persistent {
		return nil, nil
	}
	return d, err
}

// findHypervisor returns another hypervisor by its name.
func (s *Store) findHypervisor(name string) (*hypervisor.Client, error) {
	c, ok := s.others[name]
	if !ok {
		return nil, fmt.Errorf("node %q has something on %s, which is not among the provider's hypervisors: write that there until an apply has brought the node's move to its end", s.known.Name, plan.NameHypervisor(name))
	}
	return c, nil
}

// goTo has the store be that of another hypervisor, where the machine turned out to be.
func (s *Store) goTo(name string) {
	known := *s.known
	known.Hypervisor = name
	s.client, s.known = s.others[name], &known
}
