package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/ovn"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// central is what a look at the machines with the databases shows.
type central struct {
	// members are those that are known and those that are wanted, the one by which OVN is known first. host and machine are the one of them that is
	// asked where one is enough: the first that runs the databases, or that answers.
	members []member
	host    host.Host
	machine Machine
	north   *ovn.Northbound
	// notes are nil where the databases do not run, or run and were not made ready yet.
	notes map[string]string
	mark  owner.Mark
}

func (c central) isRunning() bool { return c.notes != nil }

// first is the machine by which OVN is known.
func (c central) first() member { return c.members[0] }

func (c central) findMember(endpoint string) (member, error) {
	for _, m := range c.members {
		if host.SameReference(m.Endpoint, endpoint) {
			return m, nil
		}
	}
	return member{}, fmt.Errorf("%s was not looked at", endpoint)
}

// listPeers returns the addresses of the cluster's servers, as the first machine says that knows them.
func (c central) listPeers() []string {
	for _, m := range c.members {
		if peers := m.databases[ovn.NorthDB.Name].Peers; len(peers) > 0 {
			return peers
		}
	}
	return nil
}

// lookAtCentral looks at the machines that are known, and at those that the databases know of beside them. One that cannot be looked at says so as it is
// asked for, unless none can.
func (s *Store) lookAtCentral(ctx context.Context) (c central, err error) {
	if c.north, err = s.machines.Northbound(ctx, s.known.Central[0]); err != nil {
		return c, err
	}
	s.lookAtMembers(ctx, &c, s.known.listPlaces())
	if err := c.choose(); err != nil {
		return c, err
	}
	if !c.machine.hasRunning(centralUnits[:2]...) {
		return c, nil
	}
	c.notes, err = c.north.Notes(ctx)
	if errors.Is(err, ovn.ErrUninitialized) { // it was started by somebody who was killed before the database was made ready
		return c, nil
	}
	if err != nil {
		return c, err
	}
	if c.notes == nil {
		c.notes = map[string]string{}
	}
	c.mark = owner.Parse(c.notes[ovn.MarkKey])
	var others []Place
	for _, p := range parseNotedPlaces(c.notes) {
		if _, err := c.findMember(p.Endpoint); err != nil {
			others = append(others, p)
		}
	}
	s.lookAtMembers(ctx, &c, others)
	return c, nil
}

// lookAtMembers looks at machines side by side, and has what asks the databases go to the leader of those that are in a cluster.
func (s *Store) lookAtMembers(ctx context.Context, c *central, places []Place) {
	looked := make([]member, len(places))
	each(placesByEndpoint(places), func(_ string, at int) (none struct{}, err error) {
		looked[at] = s.lookAtMember(ctx, places[at])
		return none, nil
	})
	c.members = append(c.members, looked...)
	var clustered []string
	for i, m := range c.members {
		if m.isClustered() || i == 0 {
			clustered = append(clustered, m.Endpoint)
		}
	}
	if len(clustered) > 1 {
		c.north.SetMembers(clustered)
	}
}

func placesByEndpoint(places []Place) map[string]int {
	all := map[string]int{}
	for i, p := range places {
		all[p.Endpoint] = i
	}
	return all
}

func (s *Store) lookAtMember(ctx context.Context, p Place) (m member) {
	m.Place = p
	if m.host, m.err = s.machines.Host(ctx, p.Endpoint); m.err != nil {
		return m
	}
	if m.machine, m.err = Look(ctx, m.host, netip.Addr{}); m.err == nil && m.machine.Stored {
		m.databases, m.err = lookAtDatabases(ctx, m.host)
	}
	return m
}

// choose picks the machine that is asked where one is enough.
func (c *central) choose() error {
	answers := slices.DeleteFunc(slices.Clone(c.members), func(m member) bool { return m.err != nil })
	if len(answers) == 0 {
		return c.first().err
	}
	chosen := answers[0]
	for _, m := range answers {
		if m.machine.hasRunning(centralUnits[:2]...) && (m.isClustered() || m.Endpoint == c.first().Endpoint) {
			chosen = m
			break
		}
	}
	c.host, c.machine = chosen.host, chosen.machine
	return nil
}

// parseNotedPlaces returns the machines that NB_Global notes to have the databases, in the order of their endpoints. One that is alone is not noted.
func parseNotedPlaces(notes map[string]string) (places []Place) {
	for key, endpoint := range notes {
		if text, is := strings.CutPrefix(key, ovn.MemberKey); is {
			address, _ := netip.ParseAddr(text)
			places = append(places, Place{endpoint, address})
		}
	}
	slices.SortFunc(places, func(a, b Place) int { return cmp.Compare(a.Endpoint, b.Endpoint) })
	return places
}

// listNotedCentral returns the endpoints of the machines that the databases know to have them, the first one first; where these are those that are known,
// as these are written.
func (s *Store) listNotedCentral(notes map[string]string) []string {
	noted := parseNotedPlaces(notes)
	if len(noted) == 0 {
		return s.known.Central[:1]
	}
	all := s.known.Central[:1:1]
	for _, p := range noted {
		if !host.SameReference(p.Endpoint, all[0]) {
			all = append(all, p.Endpoint)
		}
	}
	known := Engine{Central: all}
	if len(all) == len(s.known.Central) && !slices.ContainsFunc(s.known.Central, func(endpoint string) bool { return !known.hasCentral(endpoint) }) {
		return s.known.Central
	}
	return all
}

// mayTakeCentral refuses databases of somebody else: with another's mark, or with none and something in them, and members of clusters of others.
func (s *Store) mayTakeCentral(ctx context.Context, c central) error {
	if err := s.mayJoin(c); err != nil {
		return err
	}
	if !c.isRunning() || c.mark != (owner.Mark{}) && s.claim.MayTake(c.mark) {
		return nil
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

// mayJoin refuses machines that are to have the databases too and have some of somebody else: used ones, or members of another cluster.
func (s *Store) mayJoin(c central) error {
	for _, m := range c.members[1:] {
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
		if m, err := c.findMember(p.Endpoint); err == nil && m.databases[kind.Name].Cluster == id {
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

// lockCentral takes the turn on the machines with the databases that answer, in the order of their endpoints.
func (s *Store) lockCentral(ctx context.Context) (c central, unlock func(), err error) {
	var unlocks []func()
	unlock = func() {
		for _, end := range slices.Backward(unlocks) {
			end()
		}
	}
	var failure error
	for _, endpoint := range slices.Sorted(slices.Values(s.known.Central)) {
		h, err := s.machines.Host(ctx, endpoint)
		if err == nil {
			var end func()
			if end, err = h.Lock(ctx, lockName); err == nil {
				unlocks = append(unlocks, end)
			}
		}
		failure = errors.Join(failure, err)
	}
	if len(unlocks) == 0 {
		return c, unlock, failure
	}
	if c, err = s.lookAtCentral(ctx); err != nil {
		unlock()
	}
	return c, unlock, err
}

// hasAllMembers says whether all machines that answer are members of one cluster, of these machines and no others; a lone one is of none.
func (c central) hasAllMembers(e Engine) bool {
	if !e.isCluster() {
		return !c.first().isClustered()
	}
	var addresses []string
	for _, p := range e.listPlaces() {
		addresses = append(addresses, e.raftAddress(p))
	}
	for _, m := range c.members {
		if m.err == nil && e.hasCentral(m.Endpoint) && (!m.hasPeers(addresses) || !m.machine.hasRunning(centralUnits...)) {
			return false
		}
	}
	return true
}

// noteMembers has the databases note which machines have them, before these do; one that is alone is not noted. What is noted of a machine in another
// spelling stays.
func (s *Store) noteMembers(ctx context.Context, c central, want Engine) error {
	if !want.isCluster() {
		return nil
	}
	notes := map[string]string{}
	for _, p := range want.listPlaces() {
		if key := ovn.MemberKey + p.Address.String(); !host.SameReference(c.notes[key], p.Endpoint) {
			notes[key] = p.Endpoint
		}
	}
	return c.north.Note(ctx, notes)
}

func (m member) isFirst(c central) bool { return m.Endpoint == c.first().Endpoint }
