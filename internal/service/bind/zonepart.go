package bind

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/bind/namedconf"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// FindZone reads a zone by its canonical name; transaction.ErrAbsent when it is not there.
func FindZone(t transaction.Tree, view, zone string) (Zone, error) {
	c, err := readConfig(t)
	if err != nil {
		return Zone{}, err
	}
	s, err := c.findZone(view, zone)
	if err != nil {
		return Zone{}, err
	}
	z := Zone{View: view, Name: zone}
	if file := c.fileOf(s); file != "" {
		content, ok := c.tree[file]
		if !ok {
			return Zone{}, transaction.ErrAbsent
		}
		z = parseZoneFile(zone, content.Content).zoneOf()
		z.View = view
	}
	z.takeStatement(s)
	if z.AllowTransfer == nil && z.Forward == nil && isOurZone(s) {
		z.AllowTransfer = []string{"any"} // somebody took the statement out, and named has a default of its own
	}
	return z, nil
}

// findZone finds a zone's statement; transaction.ErrAbsent where it or its view is not there.
func (c *config) findZone(view, findZone string) (*namedconf.Statement, error) {
	in := &namedconf.File{}
	if view == "" {
		zones, err := c.listZonesInNoView()
		if err != nil {
			return nil, err
		}
		in.Statements = zones
	} else {
		v, _, err := c.anyView(view)
		if err != nil {
			return nil, err
		}
		if v == nil {
			return nil, transaction.ErrAbsent
		}
		in = v.Block()
	}
	if s := zoneIn(in, findZone); s != nil && s.Block() != nil {
		return s, nil
	}
	return nil, transaction.ErrAbsent
}

// refuseUnmanageable says why a zone that a person wrote cannot be managed: what it is would be another thing once it is written, or its
// records are in a file that is not read.
func refuseUnmanageable(t transaction.Tree, view, zone string) error {
	c, err := readConfig(t)
	if err != nil {
		return absentIsFine(err)
	}
	s, err := c.findZone(view, zone)
	if err != nil || isOurZone(s) {
		return nil //nolint:nilerr // who finds it says why it cannot be found
	}
	kind := ""
	if is := s.Block().Find("type"); is != nil {
		kind = strings.ToLower(is.Arg(0))
	}
	if !slices.Contains([]string{"primary", "master", "forward"}, kind) {
		return fmt.Errorf("zone %q cannot be managed as it is: it is of type %q, and only a primary zone, and one that is forwarded, can be", zone, kind)
	}
	if kind == "forward" {
		return nil
	}
	if transfer := s.Block().Find("allow-transfer"); transfer != nil && len(transfer.Words()) > 0 {
		return fmt.Errorf("zone %q cannot be managed as it is: its allow-transfer says %s, and allow_transfer has only whom", zone, strings.Join(transfer.Words(), " "))
	}
	if isSingle(s) {
		return fmt.Errorf("zone %q cannot be managed as it is: named itself writes its file, as it takes updates or signs the zone", zone)
	}
	content, read := t[c.fileOf(s)]
	if !read {
		return fmt.Errorf("zone %q cannot be managed as it is: its file %q cannot be read: move it to %s/db.%s first", zone, fileOf(s), c.dir, zone)
	}
	if err := (&zoneFile{zone: zone, ttl: DefaultTTL}).readRecords(string(content.Content)); err != nil {
		return fmt.Errorf("zone %q cannot be managed as it is: its file %q would lose what is not read of it: %w", zone, fileOf(s), err)
	}
	return nil
}

// fileOf is the path in a zone's statement.
func fileOf(s *namedconf.Statement) string {
	if f := s.Block().Find("file"); f != nil {
		return f.Arg(0)
	}
	return ""
}

// takeStatement reads what of a zone stands in named.conf and returns what it does not know.
func (z *Zone) takeStatement(s *namedconf.Statement) []*namedconf.Statement {
	var rest []*namedconf.Statement
	forward := Forward{}
	isForward := false
	if is := s.Block().Find("type"); is != nil {
		isForward = strings.EqualFold(is.Arg(0), "forward")
	}
	for _, in := range s.Block().Statements {
		switch name := in.Name(); {
		case name == "type", name == "file":
		case name == "forward" && isForward:
			forward.Only = strings.EqualFold(in.Arg(0), "only")
		case name == "forwarders" && isForward:
			if in.Block() != nil {
				forward.Servers = forwarderList(in.Block().Elements())
			}
		case name == "allow-transfer":
			if in.Block() != nil {
				z.AllowTransfer = canonicalMatches(in.Block().Elements())
			}
		default:
			rest = append(rest, in)
		}
	}
	if isForward {
		z.Forward = &forward
	}
	return rest
}

// renderStatement writes the zone's statement, with the comment that says whose it is. file is its path.
func (z Zone) renderStatement(zone, file string, m owner.Mark) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\nzone %s {\n", formatMarker(nameMarker(zoneMarker, zone), m), namedconf.Quote(zone))
	if z.Forward != nil {
		mode := "first"
		if z.Forward.Only {
			mode = "only"
		}
		fmt.Fprintf(&b, "\ttype forward;\n\tforward %s;\n\tforwarders %s;\n};", mode, formatBlock(forwarderElements(z.Forward.Servers)))
		return b.String()
	}
	transfer := canonicalMatches(z.AllowTransfer)
	if transfer == nil {
		transfer = []string{"localhost"}
	}
	fmt.Fprintf(&b, "\ttype primary;\n\tfile %s;\n\tallow-transfer %s;\n};", namedconf.Quote(file), formatBlock(transfer))
	return b.String()
}

// ZoneMark returns whose the zone of a name is in a view, a person's included; false where there is none.
func ZoneMark(t transaction.Tree, view, zone string) (owner.Mark, bool) {
	return markIn(t, func(c *config) (*namedconf.Statement, error) { return c.findZone(view, zone) })
}

// SetZone puts a zone in any case. Record sets of others in it stay. The serial rises when anything changes. One without a view is not put
// beside views, unless it was there before them, ours or a person's: then each of them serves it.
func SetZone(t transaction.Tree, z Zone, m owner.Mark, now time.Time) error {
	zone, err := z.CanonicalName()
	if err != nil {
		return err
	}
	c, err := openConfig(t)
	if err != nil {
		return err
	}
	holder, there := c.findZoneFile(z.View)
	if !there {
		return fmt.Errorf("view %q is not there; make it with virtcluster_dns_view, and refer to it in the zone's `view`, so that it is made first", z.View)
	}
	old := zoneIn(holder.File, zone)
	if z.View == "" && old == nil {
		if old, err = c.takeZoneInNoView(zone); err != nil {
			return err
		}
		if old != nil {
			holder.Statements = append(holder.Statements, old)
		}
	}
	if views := c.viewNames(); z.View == "" && len(views) > 0 && old == nil {
		return fmt.Errorf("the machine answers by views, %s: name in `view` the one that zone %q belongs into", strings.Join(views, ", "), zone)
	}
	if err := c.checkKept(zone); err != nil {
		return err
	}
	path := c.zoneFile(z.View, zone)
	s, err := parseStatement(z.renderStatement(zone, path, m), "\t")
	if err != nil {
		return err
	}
	from := path
	if old == nil {
		holder.Statements = append(holder.Statements, s)
	} else {
		if file := c.fileOf(old); file != "" {
			from = file
		}
		s.Block().Statements = append(s.Block().Statements, (&Zone{}).takeStatement(old)...)
		replaceStatement(holder.File, old, s)
	}
	c.writeZoneFile(holder)
	if z.Forward != nil {
		delete(t, path)
		return c.saveConfig()
	}
	if err := c.writeZone(z, zone, from, path, now); err != nil {
		return err
	}
	return c.saveConfig()
}

// checkKept refuses a zone that a file from before the take-over gives to every view.
func (c *config) checkKept(zone string) error {
	kept, err := c.readKept()
	if err != nil {
		return err
	}
	for _, s := range slices.Concat(kept.shared, kept.single) {
		place := c.sharedPath()
		if s.Name() == "include" {
			place = s.Arg(0)
		}
		for _, in := range c.flattenIncludes([]*namedconf.Statement{s}, 0) {
			if name, err := ZoneName(in.Arg(0)); in.Name() == "zone" && err == nil && name == zone {
				return fmt.Errorf("zone %q is in %s already, for every view, and this provider did not write it: take it out there, or leave this zone out", zone, place)
			}
		}
	}
	return nil
}

// writeZone writes the zone's file with the record sets of others that the old one, at from, holds.
func (c *config) writeZone(z Zone, zone, from, path string, now time.Time) error {
	next, err := z.makeFile()
	if err != nil {
		return err
	}
	var old *zoneFile
	if content, ok := c.tree[from]; ok {
		old = parseZoneFile(zone, content.Content)
		own := map[rrset]bool{}
		for _, r := range next.records {
			own[r.rrset] = true
		}
		next.owned = old.owned
		for _, r := range old.records {
			set, owned := old.owned[r.rrset]
			if !owned {
				continue
			}
			if own[r.rrset] {
				return fmt.Errorf("%s %s is a record set of another resource; leave it out of the zone's records, or destroy that one", r.name, r.rrType)
			}
			if !set.ttl && r.ttl == old.ttl {
				r.ttl = next.ttl
			}
			next.records = append(next.records, r)
		}
	}
	return c.putFile(path, old, next, true, now)
}

// putFile writes a zone file, with a higher serial where anything in it differs from the old one. own says that it is the zone
// that changed, and not a record set of another resource in it.
func (c *config) putFile(path string, old, next *zoneFile, own bool, now time.Time) error {
	if err := next.checkAliases(); err != nil {
		return err
	}
	if old != nil {
		next.serial, next.ownSerial = old.serial, old.ownSerial
		if bytes.Equal(c.tree[path].Content, next.Render()) {
			return nil
		}
	}
	if own {
		next.ownSerial = 0
	} else {
		next.ownSerial = cmp.Or(next.ownSerial, next.serial)
	}
	next.serial = NextSerial(next.serial, now)
	c.tree.Put(path, next.Render(), 0o644, "root", "root")
	return nil
}

// checkAliases applies the rule for CNAMEs to the zone and the record sets of others together.
func (f *zoneFile) checkAliases() error {
	types := map[string]map[string]bool{}
	for _, r := range f.records {
		if types[r.name] == nil {
			types[r.name] = map[string]bool{}
		}
		types[r.name][r.rrType] = true
	}
	for _, name := range slices.Sorted(maps.Keys(types)) {
		if types[name]["CNAME"] && (len(types[name]) > 1 || name == Apex) {
			return fmt.Errorf("%q would have a CNAME beside other data; a CNAME must be the only record of its name", name)
		}
	}
	return nil
}

// DropZone takes a zone out. One with record sets of other resources stays, with an error that names them.
func DropZone(t transaction.Tree, view, zone string) error {
	c, err := readConfig(t)
	if err != nil {
		return absentIsFine(err)
	}
	holder, there := c.findZoneFile(view)
	if !there {
		return nil
	}
	path := c.zoneFile(view, zone)
	if content, ok := t[path]; ok {
		if owned := parseZoneFile(zone, content.Content).owned; len(owned) > 0 {
			var names []string
			for _, set := range sortedSets(owned) {
				names = append(names, set.name+" "+set.rrType)
			}
			return fmt.Errorf("zone %q has record sets of other resources: %s; destroy them first (or refer to the zone in their `zone`, so that it is destroyed after them)", zone, strings.Join(names, ", "))
		}
	}
	delete(t, path)
	if s := zoneIn(holder.File, zone); s != nil {
		removeStatement(holder.File, s)
	}
	c.writeZoneFile(holder)
	return c.saveConfig()
}

// explainStayingZone says why a zone that is destroyed goes on being served: it stands where a person wrote it, and nothing of it was changed
// since its import. "" is for one that is taken out of what this provider writes.
func explainStayingZone(t transaction.Tree, view, zone string) string {
	c, err := readConfig(t)
	if err != nil {
		return ""
	}
	s, err := c.findZone(view, zone)
	if err != nil || isOurZone(s) {
		return ""
	}
	if holder, there := c.findZoneFile(view); there && zoneIn(holder.File, zone) != nil {
		return ""
	}
	return unchanged
}
