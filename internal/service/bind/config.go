package bind

import (
	"fmt"
	"slices"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/bind/namedconf"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// Comments that mark what this provider wrote: an interrupted create is taken over, a person's part with the
// same name is not.
const (
	ourComment   = "# virtcluster: "
	serverMarker = ourComment + "server"
	viewMarker   = ourComment + "view"
	zoneMarker   = ourComment + "zone"
	// keptMarker marks what was there before the take-over and must be said in another place since.
	keptMarker = ourComment + "served before"
)

// restView answers whoever no other view answers, where a person's zones were served to everyone.
const restView = "virtcluster-rest"

const header = `# This file is kept by terraform-provider-virtcluster; parts under a "virtcluster:" comment are written anew when
# they change, and other statements stay. The file from before is %s
# and comes back when the last part is destroyed.
`

// config is the configuration in a tree, taken apart.
type config struct {
	distribution
	tree transaction.Tree
	file *namedconf.File
}

// readConfig takes the main file apart. Without one, the error is transaction.ErrAbsent: nothing is served.
func readConfig(t transaction.Tree) (*config, error) {
	d, ok := distributionOf(t)
	if !ok {
		return nil, transaction.ErrAbsent
	}
	file, err := parseConf(t, d.main)
	if err != nil {
		return nil, err
	}
	// What cannot be read would be written anew without what a person put there.
	if _, err := parseConf(t, d.everywherePath()); err != nil {
		return nil, err
	}
	return &config{distribution: d, tree: t, file: file}, nil
}

func parseConf(t transaction.Tree, path string) (*namedconf.File, error) {
	file, err := namedconf.Parse(string(t[path].Content))
	if err != nil {
		return nil, fmt.Errorf("parse %s: %w", path, err)
	}
	return file, nil
}

// openConfig reads the configuration to change it, and takes it over where that has not happened yet.
func openConfig(t transaction.Tree) (*config, error) {
	if _, ok := distributionOf(t); !ok {
		return nil, errNotInstalled
	}
	c, err := readConfig(t)
	if err != nil {
		return nil, err
	}
	// Where a person removed the kept original, what there is now is not it.
	if _, kept := t[c.originalPath()]; !kept && !c.hasOurParts() {
		err = c.takeOver()
	}
	return c, err
}

// hasOurParts says whether any part of ours is in the configuration.
func (c *config) hasOurParts() bool {
	return c.serverStatement() != nil || len(c.viewStatements()) > 0 || slices.ContainsFunc(c.zonesEverywhere(), isOurZone)
}

// markerOf is our comment right above a statement, without whose it is; "" where there is none.
func markerOf(s *namedconf.Statement) string {
	kind, _ := owner.Cut(markerComment(s))
	return kind
}

// markIn returns whose a statement of a configuration is; false where it is not there, or cannot be found.
func markIn(t transaction.Tree, find func(*config) (*namedconf.Statement, error)) (owner.Mark, bool) {
	c, err := readConfig(t)
	if err != nil {
		return owner.Mark{}, false
	}
	s, err := find(c)
	if err != nil || s == nil {
		return owner.Mark{}, false
	}
	return markOf(s), true
}

// markOf returns whose a statement is; the zero Mark is a person's.
func markOf(s *namedconf.Statement) owner.Mark { return owner.Parse(markerComment(s)) }

// markerComment is our comment right above a statement as it is written, without the name of what it is of; "" where there is none. One further
// up, or with another name, is that of a statement which somebody took out, or made a comment of: what stands below is not ours by it.
func markerComment(s *namedconf.Statement) string {
	lead := strings.TrimSpace(s.Lead())
	line := strings.TrimSpace(lead[strings.LastIndex(lead, "\n")+1:])
	if !strings.HasPrefix(line, ourComment) {
		return ""
	}
	kind, rest, named := strings.Cut(line, ` "`)
	if !named {
		return line
	}
	name, rest, _ := strings.Cut(rest, `"`)
	if !hasName(s, name) {
		return ""
	}
	return kind + rest
}

// hasName says whether a statement is that of a zone or a view with a name, however it is spelled.
func hasName(s *namedconf.Statement, name string) bool {
	is := s.Arg(0)
	if zone, err := ZoneName(is); s.Name() == "zone" && err == nil {
		is = zone
	}
	return is == name
}

// isKept says whether a statement says what was there before the take-over, as this package writes it: an include of one of our files, a zone
// that another view has, or the view for everybody else. A person's below a comment that is left of one is none.
func (c *config) isKept(s *namedconf.Statement) bool {
	if markerOf(s) != keptMarker {
		return false
	}
	switch s.Name() {
	case "include":
		return slices.Contains(c.zoneIncludes(), s.Arg(0))
	case "zone":
		return s.Block() != nil && len(s.Block().Statements) == 1 && s.Block().Find("in-view") != nil
	}
	return isView(s) && s.Arg(0) == restView
}

// formatMarker is one of our comments with whose the statement below it is.
func formatMarker(marker string, m owner.Mark) string {
	return strings.TrimSpace(marker + " " + m.String())
}

// nameMarker is one of our comments with the name of what it is of, which holds no quote.
func nameMarker(marker, name string) string { return marker + ` "` + name + `"` }

// withoutMarkers is a statement's lead without our comments: what a person wrote above it.
func withoutMarkers(lead string) string {
	var kept []string
	for _, line := range strings.Split(lead, "\n") {
		if !strings.HasPrefix(strings.TrimSpace(line), ourComment) {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "\n")
}

// parseStatement parses one statement that this package rendered, its marker above it.
func parseStatement(text, indent string) (*namedconf.Statement, error) {
	if indent != "" {
		text = indent + strings.ReplaceAll(text, "\n", "\n"+indent)
	}
	f, err := namedconf.Parse(text)
	if err != nil || len(f.Statements) != 1 {
		return nil, fmt.Errorf("cannot write %q to named.conf: %w", text, err)
	}
	return f.Statements[0], nil
}

// serverStatement is our options statement, nil where there is none.
func (c *config) serverStatement() *namedconf.Statement {
	for _, s := range c.file.Statements {
		if markerOf(s) == serverMarker && s.Name() == "options" && s.Block() != nil {
			return s
		}
	}
	return nil
}

// viewStatements are our view statements.
func (c *config) viewStatements() []*namedconf.Statement {
	var views []*namedconf.Statement
	for _, s := range c.file.Statements {
		if isView(s) && strings.HasPrefix(markerOf(s), viewMarker) {
			views = append(views, s)
		}
	}
	return views
}

func isView(s *namedconf.Statement) bool { return s.Name() == "view" && s.Block() != nil }

// findView finds our view statement.
func (c *config) findView(name string) *namedconf.Statement {
	for _, s := range c.viewStatements() {
		if s.Arg(0) == name {
			return s
		}
	}
	return nil
}

// viewNames are the names of all views, a person's included, in the main file and in those that it includes.
func (c *config) viewNames() []string {
	var names []string
	for _, s := range c.flattenIncludes(c.file.Statements, 0) {
		if isView(s) && s.Arg(0) != restView {
			names = append(names, s.Arg(0))
		}
	}
	return names
}

// zoneIn finds a zone statement among those of a view; it may be anyone's.
func zoneIn(view *namedconf.File, zone string) *namedconf.Statement {
	for _, s := range view.Statements {
		if name, err := ZoneName(s.Arg(0)); s.Name() == "zone" && err == nil && name == zone {
			return s
		}
	}
	return nil
}

// removeStatement takes a statement out of a block.
func removeStatement(f *namedconf.File, s *namedconf.Statement) {
	f.Statements = slices.DeleteFunc(f.Statements, func(x *namedconf.Statement) bool { return x == s })
}

// saveConfig lays the file out and puts it into the tree; with none of our parts left, what was there before comes
// back.
func (c *config) saveConfig() error {
	if !c.hasOurParts() {
		return c.giveBack()
	}
	if err := c.layOut(); err != nil {
		return err
	}
	c.tree.Put(c.main, []byte(c.file.String()), 0o644, "root", c.group)
	return nil
}
