// Package bind holds BIND's configuration as plain values: a server's options, views, zones and record sets,
// each with Validate, Render and Parse, and how named is checked and reloaded.
package bind

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/plan"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/bind/namedconf"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

const (
	// DefaultTTL of a zone's records, in seconds.
	DefaultTTL = 300
	// InheritTTL gives a record set the TTL of its zone.
	InheritTTL = -1
	// MaxTTL is the highest TTL (RFC 2181, section 8).
	MaxTTL = 1<<31 - 1
	// DefaultNameServer is what a zone names as its server where the configuration names none: the name that
	// Debian's own zones use, since a name in the zone would need an address there.
	DefaultNameServer = "localhost."
)

// Records are record data by owner name and type, in the spelling of whoever wrote them. Names are relative
// to the zone, absolute with a dot at the end, or "@" for the zone itself.
type Records map[string]map[string][]string

// SOA is the start of authority; times are seconds. An empty name takes its default.
type SOA struct {
	// MName is the primary server; default: the first name server.
	MName string `attr:"mname"`
	// RName is the mailbox of the person responsible, as a name; default: DefaultMailbox.
	RName string `attr:"rname"`
	// Refresh, Retry and Expire are for secondary servers; Minimum is how long a negative answer is kept.
	Refresh int64 `attr:"refresh,zero"`
	Retry   int64 `attr:"retry,zero"`
	Expire  int64 `attr:"expire,zero"`
	Minimum int64 `attr:"minimum,zero"`
}

// DefaultSOA has the times that RFC 1912, section 2.2, recommends, and a short negative TTL: a node that was
// asked for a moment too early must not stay unknown for an hour.
var DefaultSOA = SOA{Refresh: 3600, Retry: 600, Expire: 1209600, Minimum: 60}

// Forward makes a zone whose questions go to other servers.
type Forward struct {
	// Servers are addresses, with ":port" where it is not 53.
	Servers []string
	// Only says that named does not look for the answer itself when the servers give none.
	Only bool `attr:"only"`
}

// Zone is one zone in one view, as a resource describes it.
type Zone struct {
	View string `attr:"view"`
	// Name in any spelling; canonical where it was read back.
	Name        string `attr:"name"`
	TTL         int64  `attr:"ttl"`
	SOA         SOA    `attr:"soa"`
	NameServers []string
	Records     Records
	// AllowTransfer is an address match list; nil means the machine itself.
	AllowTransfer []string
	// Forward is nil for a primary zone.
	Forward *Forward `attr:"forward"`
	// Serial of the zone's own last change as read back; record sets of others may have raised the one that is served.
	Serial uint32

	// CIDR and Pointers are what a reverse zone was described by; a zone that was read back has its pointers
	// in Records.
	CIDR     string `attr:"cidr"`
	Pointers map[string]string
}

// RecordSet is all records of one name and type, added to a zone that somebody else describes.
type RecordSet struct {
	View, Zone, Name, Type string
	// TTL in seconds, or InheritTTL.
	TTL    int64
	Values []string
}

// rrset names a record set in canonical form: owner relative to the zone, type in upper case.
type rrset struct{ name, rrType string }

func compareSets(a, b rrset) int {
	if c := compareNames(a.name, b.name); c != 0 {
		return c
	}
	return cmp.Compare(a.rrType, b.rrType)
}

// record is one line of a zone file, in canonical form.
type record struct {
	rrset
	ttl   int64
	value string
}

// sortedSets lists the sets of a zone file in the order they are written.
func sortedSets[V any](m map[rrset]V) []rrset {
	return slices.SortedFunc(maps.Keys(m), compareSets)
}

// compareNames puts the zone itself first, then wildcards and the rest by name.
func compareNames(a, b string) int {
	switch {
	case a == b:
		return 0
	case a == Apex:
		return -1
	case b == Apex:
		return 1
	}
	return cmp.Compare(a, b)
}

// NextSerial is the serial of a zone's next version: the time in seconds where that is higher than the last
// one by RFC 1982, else the last one plus one. So it also rises above a version that was served for a moment
// and rolled back, and above what a hand edit set.
func NextSerial(last uint32, now time.Time) uint32 {
	if clock := uint32(now.Unix()); int32(clock-last) > 0 { //nolint:gosec // wrapping is the arithmetic of RFC 1982
		return clock
	}
	if last+1 == 0 {
		return 1 // BIND takes zero for "no serial"
	}
	return last + 1
}

// ListZones lists the zones by their views and canonical names, whoever wrote them: those of every view, and those in none but what every
// distribution configures (RFC 1912, section 4.1). No more of them is read.
func ListZones(t transaction.Tree) (all []Zone, err error) {
	c, err := readConfig(t)
	if err != nil {
		return nil, absentIsFine(err)
	}
	add := func(view string, s *namedconf.Statement) {
		if name, err := ZoneName(s.Arg(0)); err == nil {
			all = append(all, Zone{View: view, Name: name})
		}
	}
	zones, err := c.listZonesInNoView()
	if err != nil {
		return nil, err
	}
	for _, s := range zones {
		if isOurZone(s) || isPersonal(s) {
			add("", s)
		}
	}
	for _, view := range c.viewNames() {
		v, _, err := c.anyView(view)
		if err != nil {
			return nil, err
		}
		for _, s := range v.Block().Statements {
			if s.Name() == "zone" && s.Block() != nil && !c.isKept(s) {
				add(view, s)
			}
		}
	}
	return all, nil
}

// Uses implements plan.User: the view, whose place others are compared with.
func (v View) Uses() []plan.Use {
	return []plan.Use{{Verb: plan.Gives, Kind: plan.DNSView, Value: v.Name, Of: v, Known: []string{"name", "order", "match_clients", "match_destinations"}}}
}

// PlannedViews returns the views that a plan has on a machine, by their names; "" stands for all machines that are not known yet.
func PlannedViews(view plan.View, machine string) []View {
	var all []View
	for _, u := range view.List(plan.DNSView) {
		if strings.Join(u.Holder.Places, "") == machine {
			all = append(all, u.Of.(View))
		}
	}
	slices.SortFunc(all, func(a, b View) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// Uses implements plan.User: the records that the zone describes itself.
func (z Zone) Uses() []plan.Use {
	zone, err := z.CanonicalName()
	if err != nil {
		return nil
	}
	sets, _ := z.canonicalSets()
	uses := make([]plan.Use, 0, len(sets))
	for _, set := range sortedSets(sets) {
		uses = append(uses, plan.Use{Kind: plan.ZoneRecords, Scope: describeZone(z.View, zone), Value: set.name + " " + set.rrType, Path: []any{"records"}, Known: []string{"view", "name"}})
	}
	return uses
}

// Uses implements plan.User.
func (r RecordSet) Uses() []plan.Use {
	zone, name, rrType := r.Key()
	return []plan.Use{{Kind: plan.RecordSet, Scope: describeZone(r.View, zone), Value: name + " " + rrType, Path: []any{"name"}, Known: []string{"view", "zone", "name", "type"}}}
}

// describeZone is a zone in the scope of a use, and so in messages.
func describeZone(view, zone string) string {
	if view == "" {
		return fmt.Sprintf("zone %q", zone)
	}
	return fmt.Sprintf("zone %q of view %q", zone, view)
}

// PlannedBeside returns the types of the records that a plan has in the set's zone on a machine, by their names, but for those of the set
// itself.
func (r RecordSet) PlannedBeside(view plan.View, machine string) map[string][]string {
	own := r.Uses()[0]
	types := map[string][]string{}
	for _, kind := range []plan.Kind{plan.ZoneRecords, plan.RecordSet} {
		for _, u := range view.List(kind) {
			name, rrType, _ := strings.Cut(u.Value, " ")
			if u.Scope == own.Scope && u.Value != own.Value && strings.Join(u.Holder.Places, "") == machine && !slices.Contains(types[name], rrType) {
				types[name] = append(types[name], rrType)
			}
		}
	}
	return types
}
