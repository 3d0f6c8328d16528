package bind

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/bind/namedconf"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// layOut puts the statements of the main file in order: what is no view, then the views as they are asked,
// with what was served before the take-over said in every place where BIND wants it.
func (c *config) layOut() error {
	var general, ours, foreign []*namedconf.Statement
	for _, s := range c.file.Statements {
		switch {
		case c.isKept(s):
		case isView(s) && strings.HasPrefix(markerOf(s), viewMarker):
			ours = append(ours, s)
		case isView(s):
			foreign = append(foreign, s)
		default:
			general = append(general, s)
		}
	}
	slices.SortStableFunc(ours, func(a, b *namedconf.Statement) int {
		v, _ := parseView(a)
		w, _ := parseView(b)
		return v.Compare(w)
	})
	// Views of a person come before ours that are for everyone, or they would never be asked.
	end := slices.IndexFunc(ours, func(s *namedconf.Statement) bool { v, _ := parseView(s); return v.MatchesAll() })
	if end < 0 {
		end = len(ours)
	}
	views := slices.Concat(ours[:end], foreign, ours[end:])
	kept, err := c.readKept()
	if err != nil {
		return err
	}
	if err := c.placeKept(kept, ours, foreign, &general, &views); err != nil {
		return err
	}
	if theirs := c.inRest(); len(theirs) > 0 {
		if at := slices.IndexFunc(views, c.isRest); at >= 0 {
			rest := views[at].Block()
			rest.Statements = append(rest.Statements, theirs...)
		} else {
			c.keepBeside(theirs, "")
		}
	}
	for _, s := range slices.Concat(general, views)[1:] {
		if !strings.HasPrefix(s.Lead(), "\n") {
			s.SetLead("\n" + s.Lead())
		}
	}
	c.file.Statements = slices.Concat(general, views)
	c.putHeader()
	if !strings.HasSuffix(c.file.Tail, "\n") {
		c.file.Tail += "\n"
	}
	return nil
}

// placeKept says the zones from before: at top level while there is no view, else in each of our views, and in
// one more for whoever none of the views answers, so that those who were served go on being served.
func (c *config) placeKept(kept keptZones, ours, foreign []*namedconf.Statement, general, views *[]*namedconf.Statement) error {
	if len(ours) == 0 {
		if len(foreign) > 0 {
			return nil
		}
		statements, err := kept.zoneStatements(c.distribution, "", "")
		*general = append(*general, statements...)
		return err
	}
	last, _ := parseView(ours[len(ours)-1])
	if kept.personal && len(foreign) == 0 && !last.MatchesAll() {
		rest, err := parseStatement(keptMarker+"\nview "+namedconf.Quote(restView)+" {\n};", "")
		if err != nil {
			return err
		}
		ours = append(ours, rest)
		*views = append(*views, rest)
	}
	first := ""
	for _, s := range ours {
		body := s.Block()
		body.Statements = slices.DeleteFunc(body.Statements, c.isKept)
		statements, err := kept.zoneStatements(c.distribution, first, "\t")
		if err != nil {
			return err
		}
		body.Statements = append(body.Statements, statements...)
		for _, in := range body.Statements {
			if !strings.HasPrefix(in.Lead(), "\n") {
				in.SetLead("\n" + in.Lead())
			}
		}
		body.Tail = "\n"
		if first == "" {
			first = s.Arg(0)
		}
	}
	return nil
}

// isRest says whether a statement is the view for whoever none of the others answers.
func (c *config) isRest(s *namedconf.Statement) bool { return isView(s) && c.isKept(s) }

// inRest are the statements that a person wrote into that view.
func (c *config) inRest() []*namedconf.Statement {
	var theirs []*namedconf.Statement
	for _, s := range c.file.Statements {
		if c.isRest(s) {
			theirs = append(theirs, slices.DeleteFunc(slices.Clone(s.Block().Statements), c.isKept)...)
		}
	}
	return theirs
}

// putHeader puts the header at the top, and nowhere else.
func (c *config) putHeader() {
	c.removeHeader()
	first := c.file.Statements[0]
	first.SetLead(c.formatHeader() + "\n" + strings.TrimLeft(first.Lead(), "\n"))
}

func (c *config) formatHeader() string { return fmt.Sprintf(header, c.originalPath()) }

func (c *config) removeHeader() {
	for _, s := range c.file.Statements {
		s.SetLead(strings.ReplaceAll(s.Lead(), c.formatHeader(), ""))
	}
	c.file.Tail = strings.ReplaceAll(c.file.Tail, c.formatHeader(), "")
}

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
func (d distribution) sharedPath() string { return d.includedPath("zones") }
func (d distribution) singlePath() string { return d.includedPath("dynamic-zones") }

// includedPath is that of a file of ours that the main file includes: in the directory of the configuration, of which the checker gets a copy.
func (d distribution) includedPath(name string) string {
	return d.dir + "/" + path.Base(d.main) + ".virtcluster-" + name
}

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
		"/etc/named.conf", "/etc/named.conf.*", "/etc/named.rfc*.zones", "/etc/named/*.conf", "/etc/named/named.conf.*",
		"/etc/named/virtcluster/zones/*/*.zone",
	}
}
