package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/ovn"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
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

// findPlace returns the member of a place, however its endpoint is written: servers of a cluster are told apart by their addresses.
func (c central) findPlace(p Place) (member, error) {
	for _, m := range c.members {
		if p.Address.IsValid() && m.Address == p.Address {
			return m, nil
		}
	}
	return c.findMember(p.Endpoint)
}

// hasMember says whether a machine, by its id, is one of those that an engine has the databases on.
func (c central) hasMember(e Engine, id string) bool {
	return slices.ContainsFunc(c.members, func(m member) bool { return id != "" && m.machine.ID == id && e.hasCentral(m.Endpoint) })
}

// findTwin returns another member that is the same machine, by its id, as one that answers.
func (c central) findTwin(m member) (twin member, found bool) {
	for _, other := range c.members {
		if other.Place != m.Place && m.machine.ID != "" && other.machine.ID == m.machine.ID {
			return other, true
		}
	}
	return member{}, false
}

// listPeers returns the addresses of the servers of either database's cluster, as the first machine says that knows them: one that was let go by half is in the
// other cluster alone.
func (c central) listPeers() (all []string) {
	for _, kind := range []ovn.Kind{ovn.NorthDB, ovn.SouthDB} {
		for _, m := range c.members {
			if peers := m.databases[kind.Name].Peers; len(peers) > 0 {
				all = append(all, peers...)
				break
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
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
	c.notes, err = c.readNotes(ctx)
	if errors.Is(err, ovn.ErrUninitialized) { // it was started by somebody who was killed before the database was made ready
		return c, nil
	}
	if errors.As(err, new(*ovn.LeaderlessError)) && c.hasStopped() { // who starts those has the cluster have a leader again
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
		if _, err := c.findPlace(p); err != nil {
			others = append(others, p)
		}
	}
	s.lookAtMembers(ctx, &c, others)
	return c, nil
}

// beginLimit is how long a server may take from the begin of its unit until it takes connections.
const beginLimit = 10 * time.Second

// readNotes returns what the databases note. Their units run, which may have begun a moment before.
func (c central) readNotes(ctx context.Context) (notes map[string]string, err error) {
	for end := time.Now().Add(beginLimit); ; time.Sleep(100 * time.Millisecond) {
		notes, err = c.north.Notes(ctx)
		if !errors.As(err, new(*ovn.StoppedError)) || time.Now().After(end) || ctx.Err() != nil {
			return notes, err
		}
	}
}

// hasStopped says whether a machine that answers has databases of a cluster which do not run.
func (c central) hasStopped() bool {
	return slices.ContainsFunc(c.members, func(m member) bool {
		return m.err == nil && m.isClustered() && !m.machine.hasRunning(centralUnits[:2]...)
	})
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
	// The databases first: who looks at them waits for a change that goes on, in the middle of which no unit runs, or a file is missing.
	if m.databases, m.err = lookAtDatabases(ctx, m.host); m.err == nil {
		m.machine, m.err = Look(ctx, m.host, netip.Addr{})
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
	slices.SortFunc(places, func(a, b Place) int {
		return cmp.Or(cmp.Compare(a.Endpoint, b.Endpoint), a.Address.Compare(b.Address))
	})
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
	for _, p := range e.listPlaces() {
		m, err := c.findPlace(p)
		if err == nil && m.err == nil && (!m.hasPeers(addresses) || !m.machine.hasRunning(centralUnits...)) {
			return false
		}
	}
	return len(e.planMemberNotes(c.notes)) == 0
}

// noteMembers has the databases note which machines have them, before these do; one that is alone is not noted.
func (s *Store) noteMembers(ctx context.Context, c central, want Engine) error {
	if !want.isCluster() {
		return nil
	}
	return c.north.Note(ctx, want.planMemberNotes(c.notes))
}

// planMemberNotes returns what is to change in the notes on machines with databases, of those that are wanted. What is noted of a machine in another
// spelling stays. What is noted of it at another address goes: a change of the address that did not end leaves that.
func (e Engine) planMemberNotes(notes map[string]string) map[string]string {
	changes := map[string]string{}
	for _, p := range e.listPlaces() {
		for key := range listMemberNotes(notes, Place{Endpoint: p.Endpoint}) {
			changes[key] = ""
		}
	}
	for _, p := range e.listPlaces() {
		key := ovn.MemberKey + p.Address.String()
		if changes[key] = p.Endpoint; host.SameReference(notes[key], p.Endpoint) {
			delete(changes, key)
		}
	}
	return changes
}

// listMemberNotes returns the notes on a machine with databases, by their keys: those of its address, and those of its endpoint.
func listMemberNotes(notes map[string]string, p Place) map[string]string {
	found := map[string]string{}
	for key, endpoint := range notes {
		if address, is := strings.CutPrefix(key, ovn.MemberKey); is && (address == p.Address.String() || host.SameReference(endpoint, p.Endpoint)) {
			found[key] = endpoint
		}
	}
	return found
}

// findAddress returns where the cluster has the server of an endpoint, of the addresses that are noted for it.
func (c central) findAddress(endpoint string) (found netip.Addr) {
	for _, p := range parseNotedPlaces(c.notes) {
		isServer := slices.ContainsFunc(c.listPeers(), func(peer string) bool { return strings.HasSuffix(peer, ":"+formatAddress(p.Address)) })
		if host.SameReference(p.Endpoint, endpoint) && (isServer || !found.IsValid()) {
			found = p.Address
		}
	}
	return found
}

func (m member) isFirst(c central) bool { return m.Endpoint == c.first().Endpoint }
