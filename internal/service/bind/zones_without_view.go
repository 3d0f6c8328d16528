package bind

import (
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/bind/namedconf"
)

// defaultView is what BIND calls the view of a configuration without views.
const defaultView = "_default"

// everywherePath is where the zones without a view stand: the file is included at top level, or in every view once there are any.
func (d distribution) everywherePath() string { return d.main + ".virtcluster-everywhere" }

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
