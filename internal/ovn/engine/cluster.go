package engine

import (
	"context"
	_ "embed"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/ovn"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/provision"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// clusterScript makes a machine's databases members of clusters, and lone ones again.
//
//go:embed cluster.sh
var clusterScript string

// The ports of machines with databases that are members of clusters (ovn-ctl(8)): where the servers reach each other, where ovn-northd reaches the
// northbound one, and where it reaches the southbound one as somebody who may do everything, which chassis may not.
const (
	northboundPort = 6641
	northRaftPort  = 6643
	southRaftPort  = 6644
	trustedPort    = 16642
)

// Place is a machine with databases.
type Place struct {
	Endpoint string
	Address  netip.Addr
}

// listPlaces returns the machines with databases, the first one of Central first.
func (e Engine) listPlaces() (places []Place) {
	for at, endpoint := range e.Central {
		address, _ := CentralAddress(endpoint)
		if at == 0 {
			address = e.Address
		}
		places = append(places, Place{endpoint, address})
	}
	return places
}

// isCluster says whether the databases are on several machines.
func (e Engine) isCluster() bool { return len(e.Central) > 1 }

// formatAddress is how clusters and listeners have an address: in brackets where it is one of IPv6.
func formatAddress(a netip.Addr) string {
	if a.Is6() {
		return "[" + a.String() + "]"
	}
	return a.String()
}

// raftAddress is where the servers of a machine reach each other, without a port.
func (e Engine) raftAddress(p Place) string {
	return e.connectionMethod() + ":" + formatAddress(p.Address)
}

// validateCentral finds what is wrong with the machines that are to have the databases.
func (e Engine) validateCentral() (problems []service.Problem) {
	switch len(e.Central) {
	case 0, 1:
		return nil
	case 3:
	default:
		return []service.Problem{service.Problemf([]any{"central"}, "Number of databases", "write one endpoint, or three: %d machines stand no failure that fewer would not stand too", len(e.Central))}
	}
	places := e.listPlaces()
	for at, endpoint := range e.Central {
		if address, ok := CentralAddress(endpoint); (!ok || address.Zone() != "") && (at > 0 || !e.Address.IsValid()) {
			problems = append(problems, service.Problemf([]any{"central", at}, "No address of the databases", "of three machines each is reached by the others at the address of its endpoint, and that of %s has none: write ssh://root@10.0.0.1 instead of a name", hostOnly(endpoint)))
		}
		isSame := func(other Place) bool {
			return host.WithoutKey(other.Endpoint) == host.WithoutKey(endpoint) || other.Address.IsValid() && other.Address == places[at].Address
		}
		if _, err := host.ParseEndpoint(endpoint); err == nil && slices.ContainsFunc(places[:at], isSame) {
			problems = append(problems, service.Problemf([]any{"central", at}, "One machine twice", "three databases are on three machines"))
		}
	}
	return problems
}

func hostOnly(endpoint string) string {
	shown, _, _ := strings.Cut(endpoint, "?")
	return shown
}

// storedDatabase is a database that a machine has in its files.
type storedDatabase struct {
	// IsMember says that it is one of a cluster, whose id is Cluster, "" where it is not known yet, and IsJoining that it is to be one of ours then.
	IsMember, IsJoining bool
	Cluster             string
	// IsUsed says that one which stands alone holds what somebody has put there.
	IsUsed bool
	// Peers are the addresses of the cluster's servers, as one that runs knows them; none where it is out of the cluster. Leads says that it leads them.
	Peers []string
	Leads bool
}

// lookAtDatabases looks at the databases that a machine has stored, by their names.
func lookAtDatabases(ctx context.Context, h host.Host) (map[string]storedDatabase, error) {
	out, err := h.Run(ctx, host.RepeatableScript("cluster.sh look", clusterScript, "look"))
	if err != nil {
		return nil, fmt.Errorf("look at OVN's databases on %s: %w", h, err)
	}
	return parseDatabases(string(out))
}

func parseDatabases(text string) (map[string]storedDatabase, error) {
	all := map[string]storedDatabase{}
	for line := range strings.Lines(text) {
		words := append(strings.Fields(line), "")
		if len(words) < 3 {
			return nil, fmt.Errorf("unexpected answer %.80q", line)
		}
		d := all[words[0]]
		switch words[1] {
		case "standalone":
			d.IsUsed = words[2] == "used"
		case "clustered":
			d.IsMember, d.IsJoining = true, words[2] == "joining"
			if words[2] != "-" && !d.IsJoining {
				d.Cluster = words[2]
			}
		case "peer":
			d.Peers = append(d.Peers, words[2])
		case "leads":
			d.Leads = true
		default:
			return nil, fmt.Errorf("unexpected answer %.80q", line)
		}
		all[words[0]] = d
	}
	return all, nil
}

// member is a machine with databases, as a look shows it, or why it cannot be looked at.
type member struct {
	Place
	host      host.Host
	machine   Machine
	databases map[string]storedDatabase
	err       error
}

// isClustered says whether a database of the machine is a cluster's.
func (m member) isClustered() bool {
	return m.databases[ovn.NorthDB.Name].IsMember || m.databases[ovn.SouthDB.Name].IsMember
}

// hasPeers says whether both databases run as members of clusters of these machines, and no others.
func (m member) hasPeers(want []string) bool {
	for _, kind := range []ovn.Kind{ovn.NorthDB, ovn.SouthDB} {
		if !slices.Equal(slices.Sorted(slices.Values(m.databases[kind.Name].Peers)), slices.Sorted(slices.Values(want))) {
			return false
		}
	}
	return true
}

func runCluster(ctx context.Context, h host.Host, args ...string) error {
	_, err := h.Run(ctx, host.RepeatableScript("cluster.sh "+args[0], clusterScript, args...))
	return err
}

// putCluster has the databases be on the machines that are wanted: a lone one begins a cluster, others join it, and those that go leave it. c is what was
// seen of all of these. Chassis and guests go on meanwhile.
func (s *Store) putCluster(ctx context.Context, c central, claim owner.Claim, want Engine) error {
	if !want.isCluster() {
		return s.disbandCluster(ctx, c, claim, want)
	}
	places := want.listPlaces()
	var addresses []string
	for _, p := range places {
		addresses = append(addresses, want.raftAddress(p))
	}
	for at, p := range places {
		m, err := c.findPlace(p)
		switch {
		case err != nil:
			return err
		case m.err != nil: // one that is dead is a member all the same
			continue
		}
		if err := want.writeUnits(ctx, m.host, at); err != nil {
			return err
		}
		args := []string{"form", addresses[at]}
		if at > 0 {
			args = append([]string{"join"}, append([]string{addresses[at]}, slices.DeleteFunc(slices.Clone(addresses), func(a string) bool { return a == addresses[at] })...)...)
			// Who joined while the others were looked at, as one does whose provider was killed, is not known to these: they are asked once more.
			if c.isOutside(m, addresses[at]) && c.lookAgain(ctx).isOutside(m, addresses[at]) {
				args[0] = "rejoin"
			}
		}
		if err := runCluster(ctx, m.host, args...); err != nil {
			return fmt.Errorf("have the databases of OVN on %s be members of a cluster: %w\n\nTCP ports %d, %d, %d and %d have to pass between the machines of central", m.host, err, northboundPort, northRaftPort, southRaftPort, trustedPort)
		}
	}
	c.north.SetMembers(want.Central)
	if err := s.dropMembers(ctx, c, claim, want); err != nil {
		return err
	}
	for _, m := range c.members {
		if m.err != nil || !want.hasCentral(m.Endpoint) {
			continue
		}
		if err := runCluster(ctx, m.host, "northd"); err != nil {
			return fmt.Errorf("start ovn-northd on %s: %w", m.host, err)
		}
		// What is read back after this lacks nobody then, nor shows one that has just gone.
		if err := runCluster(ctx, m.host, append([]string{"await"}, addresses...)...); err != nil {
			return fmt.Errorf("wait until %s knows all machines with databases: %w", m.host, err)
		}
	}
	return nil
}

func (e Engine) hasCentral(endpoint string) bool {
	return slices.ContainsFunc(e.Central, func(other string) bool { return host.SameReference(other, endpoint) })
}

// isOutside says whether a machine has been a member of the cluster and is none any more: its databases have the cluster's id, and who leads does not know
// of it. What others know may be old.
func (c central) isOutside(m member, address string) bool {
	for _, kind := range []ovn.Kind{ovn.NorthDB, ovn.SouthDB} {
		own := m.databases[kind.Name]
		if !own.IsMember || own.Cluster == "" {
			continue
		}
		for _, other := range c.members {
			if is := other.databases[kind.Name]; other.Endpoint != m.Endpoint && is.Leads && !slices.Contains(is.Peers, address) {
				return true
			}
		}
	}
	return false
}

// lookAgain returns the same machines with their databases as they are by now.
func (c central) lookAgain(ctx context.Context) central {
	c.members = slices.Clone(c.members)
	for i, m := range c.members {
		if m.err == nil {
			c.members[i].databases, c.members[i].err = lookAtDatabases(ctx, m.host)
		}
	}
	return c
}

// dropMembers takes machines out of the cluster that are not wanted any more. Those that are gone go too, and first: a server is let go by more than half of
// those that stay.
func (s *Store) dropMembers(ctx context.Context, c central, claim owner.Claim, want Engine) error {
	isGone := func(m member) bool { return m.err != nil }
	answers := slices.DeleteFunc(slices.Clone(c.members), isGone)
	gone := slices.DeleteFunc(slices.Clone(c.members), func(m member) bool { return !isGone(m) })
	for _, m := range slices.Concat(gone, answers) {
		if want.hasCentral(m.Endpoint) {
			continue
		}
		if twin, found := c.findTwin(m); found && want.hasCentral(twin.Endpoint) {
			return fmt.Errorf("take the databases of OVN from %s: it has the /etc/machine-id of %s, whose databases are to stay. Give one of them another id where they are two machines", m.host, twin.host)
		}
		for _, peer := range c.listPeers() {
			if !strings.HasSuffix(peer, ":"+formatAddress(m.Address)) {
				continue
			}
			if err := runCluster(ctx, c.host, "kick", peer); err != nil {
				return fmt.Errorf("take %s out of the cluster of OVN's databases: %w", m.Endpoint, err)
			}
		}
		if m.err != nil {
			s.addWarning("A machine is not as it was", "The databases of %s are out of the cluster, and the machine was not put back: %v", m.Endpoint, m.err)
		} else if err := s.releaseMember(ctx, m, claim); err != nil {
			return err
		}
		if err := c.forgetPlace(ctx, m); err != nil {
			return err
		}
	}
	return nil
}

// forgetPlace has the databases, where they run, not know of a machine any more.
func (c central) forgetPlace(ctx context.Context, m member) error {
	if !c.isRunning() {
		return nil
	}
	gone := listMemberNotes(c.notes, m.Place)
	for key := range gone {
		gone[key] = ""
	}
	return c.north.Note(ctx, gone)
}

// releaseMember puts a machine back that is out of the cluster.
func (s *Store) releaseMember(ctx context.Context, m member, claim owner.Claim) error {
	used, err := provision.IsUser(ctx, m.host, claim, centralServices[0])
	switch {
	case err == nil && !used && m.machine.Made && !m.machine.Stored: // nothing was made there yet but the note that it would be
		_, err = runScript(ctx, m.host, true, "forget")
		return err
	case err != nil || !used:
		return err // it was refused before anything was done there
	}
	if err := removeUnits(ctx, m.host); err != nil {
		return err
	}
	if err := runCluster(ctx, m.host, "leave"); err != nil {
		return fmt.Errorf("take the databases of OVN from %s: %w", m.host, err)
	}
	if _, err := runScript(ctx, m.host, true, "forget-keys", string(centralRole), authorityFile); err != nil {
		return err
	}
	if err := closeFirewall(ctx, m.host, centralRole); err != nil {
		return err
	}
	if m.machine.Made { // before the machine forgets whose it is: whoever ends in between is followed by one who does both
		if _, err := runScript(ctx, m.host, true, "forget"); err != nil {
			return err
		}
	}
	if err := s.giveServicesBack(ctx, m.host, centralServices); err != nil || m.machine.Made {
		return err
	}
	return runCluster(ctx, m.host, "resume")
}

// giveServicesBack has a machine's units of a role's services be as they were. Those of another role that it may have stay.
func (s *Store) giveServicesBack(ctx context.Context, h host.Host, services []string) error {
	warnings, err := provision.GiveBack(ctx, h, s.engine, s.claim, services)
	for _, w := range warnings {
		s.addWarning("A machine of OVN is not as it was", "%s", w)
	}
	return err
}

// disbandCluster has the first machine's databases stand alone again, where they do not.
func (s *Store) disbandCluster(ctx context.Context, c central, claim owner.Claim, want Engine) error {
	first := c.first()
	if !first.isClustered() && len(c.members) == 1 {
		return c.forgetPlace(ctx, first)
	}
	if first.err != nil {
		return fmt.Errorf("have the databases of OVN on %s stand alone: %w", first.Endpoint, first.err)
	}
	want.Central = []string{first.Endpoint}
	if err := s.dropMembers(ctx, c, claim, want); err != nil {
		return err
	}
	if err := removeUnits(ctx, first.host); err != nil {
		return err
	}
	c.north.SetMembers(nil)
	if !first.machine.Stored {
		return nil
	}
	if err := runCluster(ctx, first.host, "disband"); err != nil {
		return fmt.Errorf("have the databases of OVN on %s stand alone: %w", first.host, err)
	}
	return c.forgetPlace(ctx, first)
}
