package bind

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/bind/namedconf"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// keptZones are the zones that were configured before the take-over.
type keptZones struct {
	// shared go into every view, single into the first one only: named writes their files.
	shared, single []*namedconf.Statement
	// personal says that there are others than those of the distribution, which somebody may ask for.
	personal bool
	// everywhere says that there are zones of ours without a view, which go into every view too.
	everywhere bool
}

// zoneStatements are what a view says to serve them; first is the view that serves the single ones, "" for this one.
func (k keptZones) zoneStatements(d distribution, first, indent string) ([]*namedconf.Statement, error) {
	var texts []string
	if len(k.shared) > 0 {
		texts = append(texts, "include "+namedconf.Quote(d.sharedPath())+";")
	}
	if k.everywhere {
		texts = append(texts, "include "+namedconf.Quote(d.everywherePath())+";")
	}
	switch {
	case first == "" && len(k.single) > 0:
		texts = append(texts, "include "+namedconf.Quote(d.singlePath())+";")
	case first != "":
		for _, s := range k.single {
			texts = append(texts, fmt.Sprintf("zone %s { in-view %s; };", namedconf.Quote(s.Arg(0)), namedconf.Quote(first)))
		}
	}
	var statements []*namedconf.Statement
	for _, text := range texts {
		s, err := parseStatement(keptMarker+"\n"+text, indent)
		if err != nil {
			return nil, err
		}
		statements = append(statements, s)
	}
	return statements, nil
}

// takeOver keeps the main file beside itself and makes one of it in which views can stand: zones go to files of
// their own, everything else stays as it is.
func (c *config) takeOver() error {
	main := c.tree[c.main]
	c.tree[c.originalPath()] = host.File{Path: c.originalPath(), Content: main.Content, Mode: main.Mode, Owner: main.Owner, Group: main.Group}
	file, zones, err := c.divideOriginal()
	if err != nil {
		return err
	}
	c.file = file
	c.writeKept(c.sharedPath(), zones.shared)
	c.writeKept(c.singlePath(), zones.single)
	return nil
}

// divideOriginal splits the configuration from before into what stays and the zones.
func (c *config) divideOriginal() (*namedconf.File, keptZones, error) {
	var zones keptZones
	file, err := parseConf(c.tree, c.originalPath())
	if err != nil {
		return nil, zones, err
	}
	rest, err := c.splitZones(file, &zones, 0)
	if err != nil {
		return nil, zones, err
	}
	return &namedconf.File{Statements: rest}, zones, nil
}

// splitZones moves zones out of a file. An included file with nothing but zones that can be shared is included from
// the new place, so that it goes on being the one to edit; one with zones among other things is taken apart.
func (c *config) splitZones(file *namedconf.File, zones *keptZones, depth int) ([]*namedconf.Statement, error) {
	var rest []*namedconf.Statement
	for _, s := range file.Statements {
		switch s.Name() {
		case "zone":
			zones.addZone(s)
			continue
		case "include":
			included, err := c.parseIncluded(s, depth)
			if err != nil {
				return nil, err
			}
			kind := c.readContents(included, depth+1)
			if kind.hasZones && kind.onlyZones && !kind.hasSingle {
				zones.shared = append(zones.shared, s)
				zones.personal = zones.personal || kind.hasPersonal
				continue
			}
			if kind.hasZones {
				inner, err := c.splitZones(included, zones, depth+1)
				if err != nil {
					return nil, err
				}
				rest = append(rest, inner...)
				continue
			}
		}
		rest = append(rest, s)
	}
	return rest, nil
}

// parseIncluded parses an included file; nil where it is none of those that we read, or none at all.
func (c *config) parseIncluded(s *namedconf.Statement, depth int) (*namedconf.File, error) {
	paths := matchingPaths(c.tree, s.Arg(0))
	if len(paths) == 0 {
		return nil, nil
	}
	if depth > maxIncludes {
		return nil, fmt.Errorf("%s includes itself", s.Arg(0))
	}
	var all namedconf.File
	for _, path := range paths {
		file, err := parseConf(c.tree, path)
		if err != nil {
			return nil, err
		}
		all.Statements = append(all.Statements, file.Statements...)
	}
	return &all, nil
}

// writeKept puts statements into a file, or removes it where there are none.
func (c *config) writeKept(path string, statements []*namedconf.Statement) {
	if len(statements) == 0 {
		delete(c.tree, path)
		return
	}
	f := namedconf.File{Statements: statements, Tail: "\n"}
	text := c.keptHeader() + f.String()
	c.tree.Put(path, []byte(text), 0o644, "root", c.group)
}

func (c *config) keptHeader() string {
	return "# Zones from before terraform-provider-virtcluster took " + c.main + " over, for every view to include.\n"
}

// readKept reads the zones from before as they are now: a person may have edited them.
func (c *config) readKept() (keptZones, error) {
	var zones keptZones
	zones.everywhere = len(c.zonesEverywhere()) > 0
	zones.personal = zones.everywhere
	for _, path := range []string{c.sharedPath(), c.singlePath()} {
		if _, ok := c.tree[path]; !ok {
			continue
		}
		file, err := parseConf(c.tree, path)
		if err != nil {
			return zones, err
		}
		for _, s := range file.Statements {
			if path == c.singlePath() {
				zones.single = append(zones.single, s)
			} else {
				zones.shared = append(zones.shared, s)
			}
			zones.personal = zones.personal || s.Name() == "zone" && isPersonal(s)
			if s.Name() == "include" {
				included, err := c.parseIncluded(s, 0)
				if err != nil {
					return zones, err
				}
				zones.personal = zones.personal || c.readContents(included, 1).hasPersonal
			}
		}
	}
	return zones, nil
}

// giveBack puts the original back, or where that is not kept any more, what the file would be without us; and after it the statements that a
// person added since, to the main file or to those for zones. What cannot stand there, such as a view beside zones that are in none, is kept
// in a file beside it.
func (c *config) giveBack() error {
	original, kept := c.tree[c.originalPath()]
	added, before := c.findAdded()
	if !kept {
		added = c.inRest()
		c.file.Statements = slices.DeleteFunc(c.file.Statements, c.isKept)
		c.removeHeader()
		before = append([]*namedconf.Statement{}, c.flattenIncludes(c.file.Statements, 0)...)
		original = host.File{Content: []byte(c.file.String()), Mode: 0o644, Owner: "root", Group: c.group}
	}
	content := bytes.Clone(original.Content)
	var beside []*namedconf.Statement
	zones, comments, err := c.addedZones(before)
	if err != nil {
		return err
	}
	for _, s := range slices.Concat(added, zones) {
		if before == nil || !c.mayFollow(before, s) {
			beside = append(beside, s)
			continue
		}
		if len(content) > 0 && content[len(content)-1] != '\n' {
			content = append(content, '\n')
		}
		content = append(content, strings.TrimLeft(s.String(), "\n")+"\n"...)
		before = append(before, c.flattenIncludes([]*namedconf.Statement{s}, 0)...)
	}
	c.keepBeside(beside, comments)
	c.tree.Put(c.main, content, original.Mode, original.Owner, original.Group)
	delete(c.tree, c.originalPath())
	for _, path := range c.zoneIncludes() {
		delete(c.tree, path)
	}
	return nil
}

// keepBeside adds a person's statements and comments to the file for those that have no other place.
func (c *config) keepBeside(statements []*namedconf.Statement, comments string) {
	if len(statements) == 0 && comments == "" {
		return
	}
	f := namedconf.File{Statements: statements, Tail: "\n" + comments}
	text := []byte("# Statements that were added to " + c.main + " while terraform-provider-virtcluster kept it.\n" + strings.TrimRight(f.String(), "\n") + "\n")
	if earlier := c.tree[c.editedPath()].Content; bytes.Contains(earlier, text) {
		text = earlier
	} else if len(earlier) > 0 {
		text = slices.Concat(earlier, []byte("\n"), text)
	}
	c.tree.Put(c.editedPath(), text, 0o644, "root", c.group)
}

// Kept implements transaction.Keeper: where what a person wrote went when it lost its place, as when the original came back.
func (Daemon) Kept(prev, next transaction.Tree) []string {
	c, err := readConfig(prev)
	if err != nil {
		return nil
	}
	var said []string
	if edited, ok := next[c.editedPath()]; ok && !bytes.Equal(prev[c.editedPath()].Content, edited.Content) {
		said = append(said, fmt.Sprintf("what was written by hand and cannot stand in %s as it is now is in %s, which named does not read", c.main, c.editedPath()))
	}
	_, had := prev[c.originalPath()]
	if _, has := next[c.originalPath()]; !had || has {
		return said
	}
	after, err := readConfig(next)
	if err != nil {
		return said
	}
	there := textsOf(after.file.Statements)
	_, before := c.findAdded()
	zones, _, err := c.addedZones(before)
	if err != nil {
		return said
	}
	for _, s := range zones {
		if there[squeezeBlanks(s.Text())] {
			said = append(said, fmt.Sprintf("%s %s, which was written by hand into a file of the provider's, stands in %s now", s.Name(), s.Arg(0), c.main))
		}
	}
	return said
}

// oncePerName are the statements of named.conf of which there may be one of a name, and onceInAll those of which there may be one.
var (
	oncePerName = []string{"acl", "dnssec-policy", "http", "key", "masters", "parental-agents", "primaries", "remote-servers", "server", "tls"}
	onceInAll   = []string{"controls", "logging", "options", "statistics-channels"}
)

// mayFollow says whether a statement can stand after those of the original.
func (c *config) mayFollow(before []*namedconf.Statement, s *namedconf.Statement) bool {
	switch name := s.Name(); {
	case slices.Contains(oncePerName, name):
		return !slices.ContainsFunc(before, func(b *namedconf.Statement) bool { return b.Name() == name && b.Arg(0) == s.Arg(0) })
	case slices.Contains(onceInAll, name):
		return !slices.ContainsFunc(before, func(b *namedconf.Statement) bool { return b.Name() == name })
	case name == "zone":
		return s.Block() != nil && s.Block().Find("in-view") == nil &&
			!slices.ContainsFunc(before, func(b *namedconf.Statement) bool { return isView(b) || b.Name() == name && sameZone(b, s) })
	case name == "include":
		// Of what cannot be looked into, a pattern that no file has is nothing.
		return !slices.ContainsFunc(c.flattenIncludes([]*namedconf.Statement{s}, 0), func(i *namedconf.Statement) bool {
			if i.Name() == name {
				return !c.isEmptyPattern(i.Arg(0))
			}
			return !c.mayFollow(before, i)
		})
	}
	return false
}

// sameZone says whether two zone statements are of one name.
func sameZone(a, b *namedconf.Statement) bool {
	first, err := ZoneName(a.Arg(0))
	second, otherErr := ZoneName(b.Arg(0))
	return a.Arg(0) == b.Arg(0) || err == nil && otherErr == nil && first == second
}

// findAdded are the statements of the main file that neither we nor the original put there, and before are those of the original;
// nil where that cannot be read.
func (c *config) findAdded() (findAdded, before []*namedconf.Statement) {
	file, err := parseConf(c.tree, c.originalPath())
	if err != nil {
		return c.file.Statements, nil
	}
	before = append([]*namedconf.Statement{}, c.flattenIncludes(file.Statements, 0)...)
	known := textsOf(before)
	for _, s := range c.file.Statements {
		if !c.isKept(s) && !c.isKnown(s, known) {
			findAdded = append(findAdded, s)
		}
	}
	return append(findAdded, c.inRest()...), before
}

// addedZones are the statements of the files for zones that neither we nor the original, with the statements before, put there, and
// the comments that stand above none of these.
func (c *config) addedZones(before []*namedconf.Statement) (added []*namedconf.Statement, comments string, err error) {
	known, remarks := textsOf(before), map[string]bool{}
	if file, err := parseConf(c.tree, c.originalPath()); err == nil {
		c.collectRemarks(file.Statements, 0, remarks)
	}
	remark := func(text string) {
		for line := range strings.Lines(withoutMarkers(text)) {
			if trimmed := strings.TrimSpace(line); trimmed != "" && !remarks[trimmed] {
				comments += strings.TrimRight(line, "\n") + "\n"
			}
		}
	}
	for _, path := range c.zoneIncludes() {
		file, err := parseConf(c.tree, path)
		if err != nil {
			return nil, "", err
		}
		for _, s := range file.Statements {
			s.SetLead(strings.ReplaceAll(s.Lead(), c.keptHeader(), ""))
			switch {
			case isOurZone(s):
			case before != nil && c.isKnown(s, known):
				remark(s.Lead())
			default:
				added = append(added, s)
			}
		}
		remark(strings.ReplaceAll(file.Tail, c.keptHeader(), ""))
	}
	return added, comments, nil
}

// collectRemarks adds the lines that stand above statements, and above those that these include.
func (c *config) collectRemarks(statements []*namedconf.Statement, depth int, to map[string]bool) {
	for _, s := range statements {
		for line := range strings.Lines(s.Lead()) {
			to[strings.TrimSpace(line)] = true
		}
		if s.Name() == "include" {
			if file, err := c.parseIncluded(s, depth); err == nil && file != nil {
				c.collectRemarks(file.Statements, depth+1, to)
			}
		}
	}
}

// textsOf are the texts of statements.
func textsOf(statements []*namedconf.Statement) map[string]bool {
	texts := map[string]bool{}
	for _, s := range statements {
		texts[squeezeBlanks(s.Text())] = true
	}
	return texts
}

// isKnown says whether a statement, or all that it includes, is among known texts.
func (c *config) isKnown(s *namedconf.Statement, known map[string]bool) bool {
	inner := c.flattenIncludes([]*namedconf.Statement{s}, 0)
	return !slices.ContainsFunc(inner, func(s *namedconf.Statement) bool { return !known[squeezeBlanks(s.Text())] })
}

// flattenIncludes puts what is included in the place of include statements.
func (c *config) flattenIncludes(statements []*namedconf.Statement, depth int) []*namedconf.Statement {
	var all []*namedconf.Statement
	for _, s := range statements {
		if s.Name() == "include" {
			if file, err := c.parseIncluded(s, depth); err == nil && file != nil {
				all = append(all, c.flattenIncludes(file.Statements, depth+1)...)
				continue
			}
		}
		all = append(all, s)
	}
	return all
}

// squeezeBlanks makes texts equal that differ in white space only.
func squeezeBlanks(text string) string { return strings.Join(strings.Fields(text), " ") }
