package engine

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
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

// The files by which the packages' units start members of a cluster, and what keeps others from them.
const (
	unitFile  = "/etc/systemd/system/%s.service.d/virtcluster.conf"
	guardFile = keysDirectory + "peers.nft"
)

// renderUnits returns the files that have the packages' units of a machine start members of a cluster. What a person has written into
// /etc/default/ovn-central stays in force. The first machine knows no other one at its start: it is where the cluster begins, and where ovn-ctl
// brings the schemas up to date.
func (e Engine) renderUnits(at int) []host.File {
	places := e.listPlaces()
	self := places[at]
	method := e.connectionMethod()
	database := func(short string, port int) string {
		words := []string{"run_" + short + "_ovsdb", fmt.Sprintf("--db-%s-cluster-local-proto=%s --db-%s-cluster-local-addr=%s", short, method, short, formatAddress(self.Address))}
		if at > 0 {
			words = append(words, fmt.Sprintf("--db-%s-cluster-remote-proto=%s --db-%s-cluster-remote-addr=%s", short, method, short, formatAddress(places[0].Address)))
		}
		if pair := centralRole.keyPair(); e.TLS {
			words = append(words, fmt.Sprintf("--ovn-%s-db-ssl-key=%s --ovn-%s-db-ssl-cert=%s --ovn-%s-db-ssl-ca-cert=%s", short, pair.Key, short, pair.Certificate, short, pair.Authority))
		}
		words = append(words, fmt.Sprintf("$OVN_CTL_OPTS -- --remote=p%s:%d:%s", method, port, formatAddress(self.Address)))
		return "ExecStartPre=/usr/sbin/nft -f " + guardFile + "\nExecStart=\nExecStart=/usr/share/ovn/scripts/ovn-ctl " + strings.Join(words, " ") + "\n"
	}
	northd := "start_northd --ovn-manage-ovsdb=no --no-monitor --ovn-northd-nb-db=" + e.listRemotes(northboundPort) + " --ovn-northd-sb-db=" + e.listRemotes(trustedPort)
	if pair := centralRole.keyPair(); e.TLS {
		northd += fmt.Sprintf(" --ovn-northd-ssl-key=%s --ovn-northd-ssl-cert=%s --ovn-northd-ssl-ca-cert=%s", pair.Key, pair.Certificate, pair.Authority)
	}
	file := func(unit, text string) host.File {
		return host.File{Path: fmt.Sprintf(unitFile, unit), Content: []byte("# Written by virtcluster_ovn: the databases are on several machines.\n[Service]\n" + text)}
	}
	return []host.File{
		{Path: guardFile, Content: []byte(renderGuard(places))},
		file(centralUnits[0], database("nb", northboundPort)), file(centralUnits[1], database("sb", trustedPort)),
		// The package's way to stop ovn-northd stops the databases beside it too.
		file(centralUnits[2], "ExecStart=\nExecStart=/usr/share/ovn/scripts/ovn-ctl "+northd+" $OVN_CTL_OPTS\nExecStop=\nExecStop=/usr/share/ovn/scripts/ovn-ctl stop_northd --ovn-manage-ovsdb=no --no-monitor\n"),
	}
}

// listRemotes is where a port of all machines with databases is reached, in OVN's words.
func (e Engine) listRemotes(port uint16) string {
	var all []string
	for _, p := range e.listPlaces() {
		all = append(all, fmt.Sprintf("%s:%s", e.connectionMethod(), netip.AddrPortFrom(p.Address, port)))
	}
	return strings.Join(all, ",")
}

// renderGuard returns a table of nftables of its own that keeps all but the machines with databases from the ports that are theirs: a chassis has
// a certificate of the same authority, and may do there what its role does not allow it at the port that is meant for it.
func renderGuard(places []Place) string {
	ports := fmt.Sprintf("tcp dport { %d, %d, %d, %d }", northboundPort, northRaftPort, southRaftPort, trustedPort)
	rule := func(family, word string, is func(netip.Addr) bool) string {
		var all []string
		for _, p := range places {
			if is(p.Address) {
				all = append(all, p.Address.String())
			}
		}
		if all == nil {
			return "\t\tmeta nfproto " + family + " " + ports + " drop\n"
		}
		return "\t\t" + word + " saddr != { " + strings.Join(all, ", ") + " } " + ports + " drop\n"
	}
	// The first two lines have the table be made anew, whether it is there or not.
	return "table inet virtcluster_ovn\ndelete table inet virtcluster_ovn\ntable inet virtcluster_ovn {\n\tchain input {\n\t\ttype filter hook input priority -10; policy accept;\n" +
		rule("ipv4", "ip", netip.Addr.Is4) + rule("ipv6", "ip6", netip.Addr.Is6) + "\t}\n}\n"
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
	for at, endpoint := range e.Central {
		if address, ok := CentralAddress(endpoint); (!ok || address.Zone() != "") && (at > 0 || !e.Address.IsValid()) {
			problems = append(problems, service.Problemf([]any{"central", at}, "No address of the databases", "of three machines each is reached by the others at the address of its endpoint, and that of %s has none: write ssh://root@10.0.0.1 instead of a name", hostOnly(endpoint)))
		}
		if _, err := host.ParseEndpoint(endpoint); err == nil && slices.ContainsFunc(e.Central[:at], func(other string) bool { return host.WithoutKey(other) == host.WithoutKey(endpoint) }) {
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
	// Peers are the addresses of the cluster's servers, as one that runs knows them; none where it is out of the cluster.
	Peers []string
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

// writeUnits writes the files by which a machine's databases are members of a cluster, where they are others than it has.
func (e Engine) writeUnits(ctx context.Context, h host.Host, at int) error {
	if _, err := h.Run(ctx, host.RepeatableScript("look for nft", `command -v nft >/dev/null || { echo "nft is not there" >&2; exit 1; }`)); err != nil {
		return fmt.Errorf("keep others from the ports of OVN's databases on %s: %w\n\nInstall nftables there: `apt-get install nftables`", h, err)
	}
	return writeFiles(ctx, h, e.renderUnits(at)...)
}

// writeFiles writes files where a machine has them otherwise.
func writeFiles(ctx context.Context, h host.Host, files ...host.File) error {
	for _, f := range files {
		is, err := h.Read(ctx, f.Path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if string(is) == string(f.Content) {
			continue
		}
		if err := h.Write(ctx, f); err != nil {
			return err
		}
	}
	return nil
}

// removeUnits removes what writeUnits has written.
func removeUnits(ctx context.Context, h host.Host) error {
	if err := h.Remove(ctx, guardFile); err != nil {
		return err
	}
	return removeUnitFiles(ctx, h, listUnitFiles()...)
}

// removeUnitFiles removes files of units, with their directories where these have no others.
func removeUnitFiles(ctx context.Context, h host.Host, paths ...string) error {
	_, err := h.Run(ctx, host.RepeatableScript("remove files of units", `rm -f -- "$@" && for file; do rmdir -- "${file%/*}" 2>/dev/null || :; done`, paths...))
	return err
}

func listUnitFiles() (paths []string) {
	for _, unit := range centralUnits {
		paths = append(paths, fmt.Sprintf(unitFile, unit))
	}
	return paths
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
		m, err := c.findMember(p.Endpoint)
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
			if c.isOutside(m, addresses[at]) {
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
		if m.err == nil && want.hasCentral(m.Endpoint) {
			if err := runCluster(ctx, m.host, "northd"); err != nil {
				return fmt.Errorf("start ovn-northd on %s: %w", m.host, err)
			}
		}
	}
	return nil
}

func (e Engine) hasCentral(endpoint string) bool {
	return slices.ContainsFunc(e.Central, func(other string) bool { return host.SameReference(other, endpoint) })
}

// isOutside says whether a machine has been a member of the cluster, which is seen by one that is, and is none any more: its databases have the cluster's
// id, and the others do not know of it.
func (c central) isOutside(m member, address string) bool {
	for _, kind := range []ovn.Kind{ovn.NorthDB, ovn.SouthDB} {
		own := m.databases[kind.Name]
		if !own.IsMember || own.Cluster == "" {
			continue
		}
		for _, other := range c.members {
			if peers := other.databases[kind.Name].Peers; other.Endpoint != m.Endpoint && len(peers) > 0 && !slices.Contains(peers, address) {
				return true
			}
		}
	}
	return false
}

// dropMembers takes machines out of the cluster that are not wanted any more. Those that are gone go too.
func (s *Store) dropMembers(ctx context.Context, c central, claim owner.Claim, want Engine) error {
	for _, m := range c.members {
		if want.hasCentral(m.Endpoint) {
			continue
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
		} else if err := s.releaseMember(ctx, m, claim, want); err != nil {
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
	return c.north.Note(ctx, map[string]string{ovn.MemberKey + m.Address.String(): ""})
}

// releaseMember puts a machine back that is out of the cluster; want are the roles that machines have from now on.
func (s *Store) releaseMember(ctx context.Context, m member, claim owner.Claim, want Engine) error {
	if used, err := provision.IsUser(ctx, m.host, claim, centralServices[0]); err != nil || !used {
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
	if err := s.giveServicesBack(ctx, m.host, m.Endpoint, centralServices, want.listServices()); err != nil {
		return err
	}
	if m.machine.Made {
		_, err := runScript(ctx, m.host, true, "forget")
		return err
	}
	return runCluster(ctx, m.host, "resume")
}

// giveServicesBack has a machine's units of services be as they were, where no other role of it, as stays has them, goes on.
func (s *Store) giveServicesBack(ctx context.Context, h host.Host, endpoint string, services []string, stays map[string][]string) error {
	for other := range stays {
		if host.SameReference(other, endpoint) {
			_, err := provision.GiveBack(ctx, h, s.engine, s.claim, services)
			return err
		}
	}
	warnings, err := provision.Leave(ctx, h, s.engine, s.claim, services)
	for _, w := range warnings {
		s.addWarning("A machine of OVN is not as it was", "%s", w)
	}
	return err
}

// disbandCluster has the first machine's databases stand alone again, where they do not.
func (s *Store) disbandCluster(ctx context.Context, c central, claim owner.Claim, want Engine) error {
	first := c.first()
	if !first.isClustered() && len(c.members) == 1 {
		return nil
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
