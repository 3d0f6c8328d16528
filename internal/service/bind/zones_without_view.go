package bind

import (
	"slices"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/bind/namedconf"
)

// defaultView is what BIND calls the view of a configuration without views.
const defaultView = "_default"

// everywherePath is where the zones without a view stand: the file is included at top level, or in every view once there are any.
func (d distribution) everywherePath() string { return d.includedPath("everywhere") }

// zoneHolder is where a view's zone statements stand.
type zoneHolder struct {
	*namedconf.File
	// include is the file that holds them; "" for a view's own block.
	include string
}

// findZoneFile finds where the zones of one of our views stand, or with view "" those without one; false where there is no such view.
func (c *config) findZoneFile(view string) (zoneHolder, bool) {
	if view == "" {
		file, err := parseConf(c.tree, c.everywherePath())
		if err != nil {
			file = &namedconf.File{}
		}
		return zoneHolder{file, c.everywherePath()}, true
	}
	s := c.findView(view)
	if s == nil {
		return zoneHolder{}, false
	}
	return zoneHolder{s.Block(), ""}, true
}

// writeZoneFile puts a holder that is a file of its own back into the tree.
func (c *config) writeZoneFile(h zoneHolder) {
	if h.include == "" {
		return
	}
	if len(h.Statements) == 0 && strings.TrimSpace(h.Tail) == "" {
		delete(c.tree, h.include)
		return
	}
	h.Tail = "\n" + strings.TrimLeft(strings.TrimRight(h.Tail, "\n")+"\n", "\n")
	c.tree.Put(h.include, []byte(h.String()), 0o644, "root", c.group)
}

// zonesEverywhere are the zones without a view.
func (c *config) zonesEverywhere() []*namedconf.Statement {
	h, _ := c.findZoneFile("")
	return h.Statements
}

// listZonesInNoView lists the zones that stand in no view, whoever wrote them: ours, and a person's, which are at top level or, since there are
// views, in the files that each of these includes.
func (c *config) listZonesInNoView() ([]*namedconf.Statement, error) {
	all := slices.Concat(c.zonesEverywhere(), c.flattenIncludes(c.file.Statements, 0))
	for _, path := range []string{c.sharedPath(), c.singlePath()} {
		file, err := parseConf(c.tree, path)
		if err != nil {
			return nil, err
		}
		all = append(all, c.flattenIncludes(file.Statements, 0)...)
	}
	var zones []*namedconf.Statement
	for _, s := range all {
		if s.Name() == "zone" && s.Block() != nil && !slices.ContainsFunc(zones, func(z *namedconf.Statement) bool { return sameZone(z, s) }) {
			zones = append(zones, s)
		}
	}
	return zones, nil
}

// takeZoneInNoView takes a person's zone that stands in no view out of where it stands, and returns it; nil where there is none of the name.
func (c *config) takeZoneInNoView(zone string) (*namedconf.Statement, error) {
	if taken := c.cutZone(c.file, zone, 0); taken != nil {
		return taken, nil
	}
	for _, path := range []string{c.sharedPath(), c.singlePath()} {
		file, err := parseConf(c.tree, path)
		if err != nil {
			return nil, err
		}
		taken := c.cutZone(file, zone, 0)
		if taken == nil {
			continue
		}
		for _, s := range append(file.Statements, taken) {
			s.SetLead(strings.ReplaceAll(s.Lead(), c.keptHeader(), ""))
		}
		c.writeKept(path, file.Statements)
		return taken, nil
	}
	return nil, nil
}

// cutZone takes the zone of a name out of a file, or out of what that includes: then all that was included stands in the place of the include
// statement, as the included file is the person's and stays as it is.
func (c *config) cutZone(f *namedconf.File, zone string, depth int) *namedconf.Statement {
	for at, s := range f.Statements {
		if name, err := ZoneName(s.Arg(0)); s.Name() == "zone" && s.Block() != nil && err == nil && name == zone {
			f.Statements = slices.Delete(f.Statements, at, at+1)
			return s
		}
		if s.Name() != "include" || c.isKept(s) {
			continue
		}
		included, err := c.parseIncluded(s, depth)
		if err != nil || included == nil {
			continue // named-checkconf says what is wrong with it
		}
		taken := c.cutZone(included, zone, depth+1)
		if taken == nil {
			continue
		}
		if len(included.Statements) > 0 {
			included.Statements[0].SetLead(s.Lead() + included.Statements[0].Lead())
		}
		f.Statements = slices.Replace(f.Statements, at, at+1, included.Statements...)
		return taken
	}
	return nil
}

// eachZone visits our zone statements, each with the views that serve it: a zone without a view is in all of ours, or in BIND's own
// where there is none.
func (c *config) eachZone(visit func(s *namedconf.Statement, views []string)) {
	var all []string
	for _, v := range c.viewStatements() {
		all = append(all, v.Arg(0))
		for _, s := range v.Block().Statements {
			if isOurZone(s) {
				visit(s, []string{v.Arg(0)})
			}
		}
	}
	if all == nil {
		all = []string{defaultView}
	}
	for _, s := range c.zonesEverywhere() {
		if isOurZone(s) {
			visit(s, all)
		}
	}
}

func isOurZone(s *namedconf.Statement) bool {
	return s.Name() == "zone" && s.Block() != nil && markerOf(s) == zoneMarker
}
