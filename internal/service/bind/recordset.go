package bind

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// Validate checks the record set without asking any machine.
func (r RecordSet) Validate() []service.Problem {
	if r.Zone == "" || r.Name == "" || r.Type == "" {
		return nil // not known yet
	}
	zone, err := ZoneName(r.Zone)
	if err != nil {
		return []service.Problem{service.Problemf([]any{"zone"}, "Invalid zone", "%v", err)}
	}
	var problems []service.Problem
	if r.TTL != InheritTTL {
		problems = checkTTL([]any{"ttl"}, r.TTL)
	}
	for i, v := range r.Values {
		if _, ttl := cutTTL(r.Type, v); ttl != InheritTTL {
			problems = append(problems, service.Problemf([]any{"values", i}, "TTL in a value", "write ttl = %d beside the values, which have it in common", ttl))
		}
	}
	set, _, found := canonicalSet([]any{"values"}, r.Name, r.Type, r.Values, zone)
	for _, p := range found {
		switch {
		case strings.HasSuffix(p.Summary, "name") || strings.HasPrefix(p.Summary, "Name without") && len(p.Path) == 1:
			p.Path = []any{"name"}
		case p.Summary == "Invalid record type":
			p.Path = []any{"type"}
		}
		problems = append(problems, p)
	}
	switch {
	case set.name == Apex && set.rrType == "CNAME":
		problems = append(problems, service.Problemf([]any{"type"}, "CNAME at the zone's own name", "a CNAME may not stand beside the zone's SOA and NS records; write address records"))
	case set.name == Apex && set.rrType == "NS":
		problems = append(problems, service.Problemf([]any{"type"}, "The zone's own name servers", "they are the zone's: name them in its name_servers"))
	case set.rrType == "CNAME" && len(r.Values) > 1:
		problems = append(problems, service.Problemf([]any{"values"}, "More than one CNAME", "a name has one CNAME at most"))
	}
	return problems
}

// CheckBeside checks the set beside the other records of its zone, of which it is given the types by their names: a CNAME is alone at its
// name, and a wildcard may not match as it seems to because of the set.
func (r RecordSet) CheckBeside(others map[string][]string) []service.Problem {
	_, name, rrType := r.Key()
	var problems []service.Problem
	switch types := slices.Sorted(slices.Values(others[name])); {
	case rrType == "CNAME" && len(types) > 0:
		problems = append(problems, service.Problemf([]any{"type"}, "CNAME beside other data", "%q has %s records too; a CNAME must be the only record of its name", name, strings.Join(types, ", ")))
	case slices.Contains(types, "CNAME"):
		problems = append(problems, service.Problemf([]any{"name"}, "Data beside a CNAME", "%q has a CNAME, which must be the only record of its name", name))
	}
	at := func(string) []any { return []any{"name"} }
	names := maps.Clone(others)
	delete(names, name)
	before := map[string]bool{}
	for _, p := range warnOfShadowed(at, names) {
		before[p.Summary] = true
	}
	names[name] = []string{rrType}
	return append(problems, slices.DeleteFunc(warnOfShadowed(at, names), func(p service.Problem) bool { return before[p.Summary] })...)
}

// InternalName is the set's absolute name where strangers need not know it, else "".
func (r RecordSet) InternalName() string {
	zone, name, _ := r.Key()
	if !isInternalName(name) {
		return ""
	}
	return strings.TrimSuffix(absoluteName(name, zone), ".")
}

// canonicalSet returns the set's name and its data in canonical form.
func (r RecordSet) canonicalSet() (string, rrset, []string, error) {
	zone, err := ZoneName(r.Zone)
	if err != nil {
		return "", rrset{}, nil, err
	}
	set, values, problems := canonicalSet([]any{"values"}, r.Name, r.Type, r.Values, zone)
	for _, p := range problems {
		if !p.Warning {
			return zone, set, nil, fmt.Errorf("%s: %s", p.Summary, p.Detail)
		}
	}
	return zone, set, values, nil
}

// FindRecordSet reads the record set of r's view, zone, name and type; transaction.ErrAbsent when it is not
// there.
func FindRecordSet(t transaction.Tree, r RecordSet) (RecordSet, error) {
	c, err := readConfig(t)
	if err != nil {
		return r, err
	}
	zone, set, _, err := r.canonicalSet()
	if err != nil {
		return r, err
	}
	f, _, err := c.readPrimary(r.View, zone)
	if err != nil {
		return r, err
	}
	own, owned := f.owned[set]
	got := RecordSet{View: r.View, Zone: zone, Name: set.name, Type: set.rrType, TTL: InheritTTL}
	for _, rr := range f.records {
		if rr.rrset != set {
			continue
		}
		got.Values = append(got.Values, rr.value)
		if own.ttl || rr.ttl != f.ttl {
			got.TTL = rr.ttl
		}
	}
	if !owned || len(got.Values) == 0 {
		return r, transaction.ErrAbsent
	}
	slices.Sort(got.Values)
	return got, nil
}

// ListRecordSets lists the record sets of a configuration that a resource describes, whosever they are, by what names them.
func ListRecordSets(t transaction.Tree) ([]RecordSet, error) {
	zones, err := ListZones(t)
	if err != nil {
		return nil, err
	}
	var all []RecordSet
	for _, z := range zones {
		c, err := readConfig(t)
		if err != nil {
			return nil, err
		}
		f, _, err := c.readPrimary(z.View, z.Name)
		if err != nil {
			continue // of another type, or in a file that is not read: it has none
		}
		for _, set := range sortedSets(f.owned) {
			all = append(all, RecordSet{View: z.View, Zone: z.Name, Name: set.name, Type: set.rrType})
		}
	}
	return all, nil
}

// readPrimary reads the file of a primary zone of ours.
func (c *config) readPrimary(view, zone string) (*zoneFile, string, error) {
	s, err := c.findZone(view, zone)
	if err != nil {
		return nil, "", err
	}
	path := c.fileOf(s)
	content, ok := c.tree[path]
	if !ok || !isOurZone(s) { // what a person wrote into their file would not come back from writing it anew
		return nil, "", transaction.ErrAbsent
	}
	return parseZoneFile(zone, content.Content), path, nil
}

// RecordSetMark returns whose the record set is; false where there is none that a resource describes.
func RecordSetMark(t transaction.Tree, r RecordSet) (owner.Mark, bool) {
	zone, set, _, err := RecordSet{View: r.View, Zone: r.Zone, Name: r.Name, Type: r.Type}.canonicalSet()
	if err != nil {
		return owner.Mark{}, false
	}
	c, err := readConfig(t)
	if err != nil {
		return owner.Mark{}, false
	}
	f, _, err := c.readPrimary(r.View, zone)
	if err != nil {
		return owner.Mark{}, false
	}
	owned, there := f.owned[set]
	return owned.mark, there
}

// AddRecordSet adds a record set that the zone must not describe itself.
func AddRecordSet(t transaction.Tree, r RecordSet, m owner.Mark, now time.Time) error {
	return r.putInto(t, m, now, true)
}

// SetRecordSet puts a record set in any case.
func SetRecordSet(t transaction.Tree, r RecordSet, m owner.Mark, now time.Time) error {
	return r.putInto(t, m, now, false)
}

func (r RecordSet) putInto(t transaction.Tree, m owner.Mark, now time.Time, add bool) error {
	zone, set, values, err := r.canonicalSet()
	if err != nil {
		return err
	}
	c, old, path, err := openZone(t, r.View, zone)
	if err != nil {
		return err
	}
	next := old.copyFile()
	_, owned := next.owned[set]
	taken := slices.ContainsFunc(next.records, func(x record) bool { return x.rrset == set })
	if add && taken && !owned {
		return fmt.Errorf("zone %q has %s records for %q among its own records; leave them out there, or leave out this record set", zone, set.rrType, set.name)
	}
	next.dropSet(set)
	next.owned[set] = ownedSet{ttl: r.TTL != InheritTTL, mark: m}
	ttl := r.TTL
	if ttl == InheritTTL {
		ttl = next.ttl
	}
	for _, v := range values {
		next.records = append(next.records, record{set, ttl, v})
	}
	return c.putFile(path, old, next, false, now)
}

// DropRecordSet takes a record set out; an absent one is no error.
func DropRecordSet(t transaction.Tree, r RecordSet, now time.Time) error {
	zone, set, _, err := RecordSet{View: r.View, Zone: r.Zone, Name: r.Name, Type: r.Type}.canonicalSet()
	if err != nil {
		return err
	}
	c, err := readConfig(t)
	if err != nil {
		return absentIsFine(err)
	}
	old, path, err := c.readPrimary(r.View, zone)
	if err != nil {
		return absentIsFine(err)
	}
	if _, owned := old.owned[set]; !owned {
		return nil
	}
	next := old.copyFile()
	next.dropSet(set)
	return c.putFile(path, old, next, false, now)
}

// openZone reads a zone that a record set goes into.
func openZone(t transaction.Tree, view, zone string) (*config, *zoneFile, string, error) {
	c, err := readConfig(t)
	if err == nil {
		var f *zoneFile
		var path string
		if f, path, err = c.readPrimary(view, zone); err == nil {
			return c, f, path, nil
		}
	}
	if absentIsFine(err) == nil {
		if m, there := ZoneMark(t, view, zone); there && m == (owner.Mark{}) {
			return nil, nil, "", fmt.Errorf("a person wrote zone %q, and record sets go into zones that this provider writes: import it as virtcluster_dns_zone and change something of it, such as its ttl, or write the records into its file", zone)
		}
		err = fmt.Errorf("view %q has no primary zone %q; make it with virtcluster_dns_zone, and refer to it in the record set's `zone`, so that it is made first", view, zone)
	}
	return nil, nil, "", err
}

// copyFile is a file that can be changed without changing this one.
func (f *zoneFile) copyFile() *zoneFile {
	c := *f
	c.records = slices.Clone(f.records)
	c.owned = maps.Clone(f.owned)
	return &c
}

// dropSet takes a record set out.
func (f *zoneFile) dropSet(set rrset) {
	delete(f.owned, set)
	f.records = slices.DeleteFunc(f.records, func(r record) bool { return r.rrset == set })
}

// Key is the set's zone, name and type in canonical form, or as given where they have none.
func (r RecordSet) Key() (zone, name, rrType string) {
	zone, err := ZoneName(r.Zone)
	if err != nil {
		return r.Zone, r.Name, strings.ToUpper(r.Type)
	}
	name, err = OwnerName(r.Name, zone)
	if err != nil {
		name = r.Name
	}
	return zone, name, strings.ToUpper(r.Type)
}

// ownTTL is a value of a zone's records with a TTL of its own behind it: "10.0.0.1 ; ttl 60".
var ownTTL = regexp.MustCompile(`^(.*\S) +; *ttl ([0-9]{1,10})$`)

// cutTTL returns the data of a value and the TTL of its own; InheritTTL where it has the zone's. Of a text it stands behind quotes: it would be part of
// the text otherwise.
func cutTTL(rrType, value string) (data string, ttl int64) {
	found := ownTTL.FindStringSubmatch(value)
	if found == nil || isText(strings.ToUpper(rrType)) && (!strings.HasPrefix(value, `"`) || !strings.HasSuffix(found[1], `"`)) {
		return value, InheritTTL
	}
	ttl, err := strconv.ParseInt(found[2], 10, 64)
	if err != nil {
		return value, InheritTTL
	}
	return found[1], ttl
}

// withTTL returns canonical data with a TTL of its own behind it, as cutTTL takes it apart.
func withTTL(rrType, data string, ttl int64) string {
	if isText(rrType) && !strings.HasPrefix(data, `"`) {
		data = quoteText(data)
	}
	return fmt.Sprintf("%s ; ttl %d", data, ttl)
}
