package engine

import (
	"context"
	"fmt"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/ovn"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// mayTakeCentral refuses databases of somebody else: with another's mark, or with none and something in them, and members of clusters of others.
func (s *Store) mayTakeCentral(ctx context.Context, c central) error {
	if err := s.mayJoin(c); err != nil {
		return err
	}
	if c.mark != (owner.Mark{}) && s.claim.MayTake(c.mark) {
		return nil
	}
	if !c.isRunning() {
		return c.mayBegin()
	}
	if c.mark == (owner.Mark{}) && !c.first().isClustered() {
		used, err := c.north.Used(ctx)
		if err != nil {
			return err
		}
		followers, err := c.north.Followers(ctx)
		if err != nil || len(used) == 0 && len(followers) == 0 {
			return err
		}
	}
	return s.foreignError("OVN", c.host, c.mark)
}

// mayBegin refuses databases of the first machine that do not run, and hold something or are a cluster's: whose they are they say when they run.
func (c central) mayBegin() error {
	first := c.first()
	for _, kind := range []ovn.Kind{ovn.NorthDB, ovn.SouthDB} {
		if is := first.databases[kind.Name]; is.IsUsed || is.IsMember {
			return service.At([]any{"central"}, fmt.Errorf("%s on %s does not run and has something in it: start it there by `systemctl start ovn-central`, so that it says whose it is, "+
				"or remove /var/lib/ovn/*.db where nobody needs it", kind.Name, first.host))
		}
	}
	return nil
}

// mayJoin refuses machines that are to have the databases too and have some of somebody else: used ones, or members of another cluster; and one that has
// them already, at another address.
func (s *Store) mayJoin(c central) error {
	for _, m := range c.members[1:] {
		if twin, found := c.findTwin(m); found && c.notes[ovn.MemberKey+m.Address.String()] == "" {
			return service.At([]any{"central"}, fmt.Errorf("%s and %s are one machine, by its /etc/machine-id, and the servers of a cluster are known by their addresses: "+
				"write one endpoint in central first, and three again with the new address. Where they are two machines, give one of them another id", hostOnly(m.Endpoint), hostOnly(twin.Endpoint)))
		}
		for _, kind := range []ovn.Kind{ovn.NorthDB, ovn.SouthDB} {
			is := m.databases[kind.Name]
			if !is.IsUsed && (!is.IsMember || is.IsJoining || c.hasCluster(kind, is.Cluster)) {
				continue
			}
			what := fmt.Sprintf("%s with something in it", kind.Name)
			if is.IsMember {
				what = fmt.Sprintf("%s of another cluster", kind.Name)
			}
			return service.At([]any{"central"}, s.claim.NewForeignError(what, m.host.String(), "", owner.Mark{}))
		}
	}
	return nil
}

// hasCluster says whether a cluster is that of the databases: that of the first machine, or where that one does not answer, of one that is noted.
func (c central) hasCluster(kind ovn.Kind, id string) bool {
	if id == "" {
		return false
	}
	if first := c.first(); first.err == nil {
		return first.databases[kind.Name].Cluster == id
	}
	for _, p := range parseNotedPlaces(c.notes) {
		if m, err := c.findPlace(p); err == nil && m.databases[kind.Name].Cluster == id {
			return true
		}
	}
	return false
}

// MayGrow refuses machines for the databases while a change is planned, which the apply would refuse.
func (s *Store) MayGrow(ctx context.Context) error {
	c, err := s.lookAtCentral(ctx)
	if err != nil {
		return nil //nolint:nilerr // the apply says what cannot be asked
	}
	return s.mayJoin(c)
}
