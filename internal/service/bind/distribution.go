package bind

import (
	"errors"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// distribution is where BIND's files are.
type distribution struct {
	// main is the file that named reads first.
	main string
	// dir holds what main includes, and our zone files.
	dir string
	// group may read the files.
	group string
}

// Place names the configuration in messages.
const Place = "BIND's configuration"

// distributions are told apart by the main file that exists. Zone files lie in the configuration's directory:
// AppArmor on Debian and SELinux on Fedora let named read that, and named never writes to them.
var distributions = []distribution{
	{main: "/etc/bind/named.conf", dir: "/etc/bind", group: "bind"},
	{main: "/etc/named.conf", dir: "/etc/named", group: "named"},
}

// errNotInstalled says that there is no configuration to take part in.
var errNotInstalled = errors.New(`BIND is not installed there: neither /etc/bind/named.conf nor /etc/named.conf exists; add "bind" to the service node's services`)

func distributionOf(t transaction.Tree) (distribution, bool) {
	for _, d := range distributions {
		if _, ok := t[d.main]; ok {
			return d, true
		}
	}
	return distribution{}, false
}

// originalPath is where the main file is kept that a take-over replaced.
func (d distribution) originalPath() string { return d.main + ".virtcluster-original" }

// editedPath is where statements go that a person added after the take-over and that cannot stand in the original, when that comes back.
func (d distribution) editedPath() string { return d.main + ".virtcluster-edited" }

// sharedPath holds the zones from before that any number of views can serve, and singlePath those that one view only
// can: their files are written by named.
func (d distribution) sharedPath() string { return d.main + ".virtcluster-zones" }
func (d distribution) singlePath() string { return d.main + ".virtcluster-dynamic-zones" }

// zoneIncludes are the files of ours that hold zone statements.
func (d distribution) zoneIncludes() []string {
	return []string{d.sharedPath(), d.singlePath(), d.everywherePath()}
}

func (d distribution) zonesDirectory() string { return d.dir + "/virtcluster/zones/" }

// zoneFile is the path of a zone's file; both names are canonical. The slash of RFC 2317 is no directory.
func (d distribution) zoneFile(view, zone string) string {
	if view == "" {
		view = defaultView
	}
	return d.zonesDirectory() + view + "/" + strings.ReplaceAll(zone, "/", "%") + ".zone"
}

// Globs are the files of the configuration, on any distribution.
func listGlobs() []string {
	return []string{
		"/etc/bind/named.conf", "/etc/bind/named.conf.*", "/etc/bind/[!n]*.conf", "/etc/bind/zones.*", "/etc/bind/db.*",
		"/etc/bind/virtcluster/zones/*/*.zone",
		"/etc/named.conf", "/etc/named.conf.*", "/etc/named.rfc*.zones", "/etc/named/*.conf",
		"/etc/named/virtcluster/zones/*/*.zone",
	}
}
