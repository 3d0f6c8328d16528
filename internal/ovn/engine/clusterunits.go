package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/ovn"
)

// The files by which the packages' units start members of a cluster, and what keeps others from them.
const (
	unitFile  = "/etc/systemd/system/%s.service.d/virtcluster.conf"
	guardFile = keysDirectory + "peers.nft"
)

// renderUnits returns the files that have the packages' units of a machine start members of a cluster, and the one that says which machines these are. What a person has written into
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
		{Path: ovn.MembersFile, Content: []byte(strings.Join(e.Central, "\n") + "\n")},
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

// removeUnits removes what writeUnits has written, the units' files first: they do not start without the table of the guard.
func removeUnits(ctx context.Context, h host.Host) error {
	if err := removeUnitFiles(ctx, h, listUnitFiles()...); err != nil {
		return err
	}
	for _, file := range []string{guardFile, ovn.MembersFile} {
		if err := h.Remove(ctx, file); err != nil {
			return err
		}
	}
	return nil
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
