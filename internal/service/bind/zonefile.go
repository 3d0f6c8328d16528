package bind

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/miekg/dns"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
)

// setMarker begins the comment that says that a record set belongs to a resource of its own.
const setMarker = "; virtcluster record-set "

// prefixMarker begins the comment that says which prefix a reverse zone is for, where its name does not tell.
const prefixMarker = "; virtcluster prefix "

// ownedSet is what the comment above a record set says of the resource that describes it.
type ownedSet struct {
	// ttl says that it has a TTL of its own.
	ttl  bool
	mark owner.Mark
}

// serialMarker begins the comment that says which serial the zone's own last change had, where record sets came after it.
const serialMarker = "; virtcluster serial "

// zoneFile is a primary zone's file, everything in canonical form.
type zoneFile struct {
	zone string
	ttl  int64
	soa  SOA
	// serial of the file, and that of the zone's own last change: record sets of others raise the one and not the other. Zero
	// is the file's.
	serial, ownSerial uint32
	nameServers       []string
	// records of the zone itself and of record sets, in any order.
	records []record
	// owned are the record sets that resources of their own describe.
	owned map[rrset]ownedSet
	// broken are lines that no parser takes, after a hand edit.
	broken []string
	// prefix that the zone is for, "" where its name tells it.
	prefix string
}

// makeFile makes the zone's file, without the record sets of others.
func (z Zone) makeFile() (*zoneFile, error) {
	zone, err := z.CanonicalName()
	if err != nil {
		return nil, err
	}
	f := &zoneFile{zone: zone, ttl: z.TTL, soa: z.SOA, serial: z.Serial, owned: map[rrset]ownedSet{}}
	for _, ns := range z.NameServers {
		target, err := Value("NS", ns, zone)
		if err != nil {
			return nil, fmt.Errorf("name server %q: %w", ns, err)
		}
		f.nameServers = append(f.nameServers, target)
	}
	if f.soa, err = z.FullSOA(); err != nil {
		return nil, err
	}
	f.prefix = z.hiddenPrefix(zone)
	sets, problems := z.canonicalSets()
	for _, p := range problems {
		if !p.Warning {
			return nil, fmt.Errorf("%s: %s", p.Summary, p.Detail)
		}
	}
	for _, set := range sortedSets(sets) {
		for _, value := range sets[set] {
			data, ttl := cutTTL(set.rrType, value)
			if ttl == InheritTTL {
				ttl = f.ttl
			}
			if data, err = Value(set.rrType, data, zone); err != nil {
				return nil, err
			}
			f.records = append(f.records, record{set, ttl, data})
		}
	}
	return f, nil
}

// FullSOA is the zone's start of authority with its names in canonical form and their defaults filled in.
func (z Zone) FullSOA() (SOA, error) {
	zone, err := z.CanonicalName()
	if err != nil {
		return z.SOA, err
	}
	soa := z.SOA
	if soa.MName == "" {
		soa.MName = DefaultNameServer
		if len(z.NameServers) > 0 {
			soa.MName = z.NameServers[0]
		}
	}
	if soa.RName == "" {
		soa.RName = DefaultMailbox(zone)
	}
	for _, name := range []*string{&soa.MName, &soa.RName} {
		if *name, err = Value("NS", *name, zone); err != nil {
			return soa, err
		}
	}
	return soa, nil
}

// Render writes the file.
func (f *zoneFile) Render() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "; Zone %s, written by terraform-provider-virtcluster; the next apply undoes what is edited here.\n", f.zone)
	if f.prefix != "" {
		fmt.Fprintf(&b, "%s%s\n", prefixMarker, f.prefix)
	}
	if f.ownSerial != 0 {
		fmt.Fprintf(&b, "%s%d\n", serialMarker, f.ownSerial)
	}
	fmt.Fprintf(&b, "$ORIGIN %s.\n$TTL %d\n", f.zone, f.ttl)
	if f.soa.MName != "" { // a hand edit may have taken it out
		fmt.Fprintf(&b, "@\tIN\tSOA\t%s %s %d %d %d %d %d\n", f.soa.MName, f.soa.RName, f.serial, f.soa.Refresh, f.soa.Retry, f.soa.Expire, f.soa.Minimum)
	}
	for _, ns := range f.nameServers {
		fmt.Fprintf(&b, "@\tIN\tNS\t%s\n", ns)
	}
	records := slices.Clone(f.records)
	slices.SortFunc(records, func(a, b record) int {
		if c := compareSets(a.rrset, b.rrset); c != 0 {
			return c
		}
		return strings.Compare(a.value, b.value)
	})
	for _, r := range records {
		if _, owned := f.owned[r.rrset]; !owned {
			f.writeLine(&b, r, r.ttl != f.ttl)
		}
	}
	for _, set := range sortedSets(f.owned) {
		words := setMarker + set.name + " " + set.rrType
		if f.owned[set].ttl {
			words += " ttl"
		}
		fmt.Fprintln(&b, formatMarker(words, f.owned[set].mark))
		for at, found := slices.BinarySearchFunc(records, set, func(r record, s rrset) int { return compareSets(r.rrset, s) }); found && at < len(records) && records[at].rrset == set; at++ {
			f.writeLine(&b, records[at], f.owned[set].ttl || records[at].ttl != f.ttl)
		}
	}
	return b.Bytes()
}

func (f *zoneFile) writeLine(b *bytes.Buffer, r record, ttl bool) {
	b.WriteString(r.name)
	b.WriteByte('\t')
	if ttl {
		b.WriteString(strconv.FormatInt(r.ttl, 10))
		b.WriteByte('\t')
	}
	data := r.value
	if isText(r.rrType) && !strings.HasPrefix(data, `"`) {
		data = quoteText(data)
	}
	fmt.Fprintf(b, "IN\t%s\t%s\n", r.rrType, data)
}

// parseZoneFile is the inverse of Render. It takes whatever BIND takes but $INCLUDE, and where a hand edit
// broke the file, it takes the lines that stand by themselves.
func parseZoneFile(zone string, content []byte) *zoneFile {
	f := &zoneFile{zone: zone, owned: map[rrset]ownedSet{}}
	f.findDirectives(content)
	if err := f.readRecords(string(content)); err != nil {
		f.records, f.nameServers, f.soa, f.serial = nil, nil, SOA{}, 0
		for line := range strings.Lines(string(content)) {
			text := strings.TrimRight(line, "\n")
			if strings.HasPrefix(text, ";") || strings.HasPrefix(text, "$") || strings.TrimSpace(text) == "" {
				continue
			}
			if text[0] == ' ' || text[0] == '\t' || f.readRecords(text+"\n") != nil {
				f.broken = append(f.broken, text)
			}
		}
	}
	f.records = withoutRepeats(f.records)
	return f
}

// withoutRepeats leaves out records that are there already, as named does.
func withoutRepeats(records []record) []record {
	seen := map[record]bool{}
	return slices.DeleteFunc(records, func(r record) bool {
		repeated := seen[r]
		seen[r] = true
		return repeated
	})
}

// findDirectives finds what the library does not report: the default TTL and our own comments.
func (f *zoneFile) findDirectives(content []byte) {
	lines := bufio.NewScanner(bytes.NewReader(content))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		if rest, ok := strings.CutPrefix(line, setMarker); ok {
			rest, mark := owner.Cut(rest)
			if words := strings.Fields(rest); len(words) >= 2 {
				f.owned[rrset{words[0], words[1]}] = ownedSet{ttl: len(words) > 2, mark: mark}
			}
		}
		if own, ok := strings.CutPrefix(line, serialMarker); ok {
			if n, err := strconv.ParseUint(own, 10, 32); err == nil {
				f.ownSerial = uint32(n)
			}
		}
		if p, err := ParseCIDR(strings.TrimPrefix(line, prefixMarker)); err == nil && ReverseZone(p) == f.zone {
			f.prefix = Zone{CIDR: p.String()}.hiddenPrefix(f.zone)
		}
		if words := strings.Fields(line); len(words) > 1 && words[0] == "$TTL" && f.ttl == 0 {
			f.ttl = parseTTL(words[1])
		}
	}
}

// parseTTL reads seconds, or BIND's units ("1h30m"); what is neither is zero.
func parseTTL(text string) int64 {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n
	}
	units := map[byte]int64{'s': 1, 'm': 60, 'h': 3600, 'd': 86400, 'w': 604800}
	var total, n int64
	for i := range len(text) {
		c := text[i] | 0x20
		switch {
		case isDigit(text[i]):
			n = n*10 + int64(text[i]-'0')
		case units[c] != 0:
			total, n = total+n*units[c], 0
		default:
			return 0
		}
	}
	return total
}

// readRecords adds the records of a text.
func (f *zoneFile) readRecords(text string) error {
	zp := dns.NewZoneParser(strings.NewReader(text), f.zone+".", "")
	zp.SetDefaultTTL(uint32(f.ttl)) //nolint:gosec // zone files hold 32 bits
	for rr, ok := zp.Next(); ok; rr, ok = zp.Next() {
		f.addRecord(rr)
	}
	return zp.Err()
}

func (f *zoneFile) addRecord(rr dns.RR) {
	h := rr.Header()
	owner, err := f.relativeOwner(h.Name)
	if err != nil || checkComplete(rr) != nil {
		f.broken = append(f.broken, rr.String())
		return
	}
	switch v := rr.(type) {
	case *dns.SOA:
		f.serial = v.Serial
		f.soa = SOA{MName: dns.CanonicalName(v.Ns), RName: dns.CanonicalName(v.Mbox),
			Refresh: int64(v.Refresh), Retry: int64(v.Retry), Expire: int64(v.Expire), Minimum: int64(v.Minttl)}
		return
	case *dns.NS:
		if owner == Apex {
			f.nameServers = append(f.nameServers, dns.CanonicalName(v.Ns))
			return
		}
	}
	f.records = append(f.records, record{rrset{owner, dns.Type(h.Rrtype).String()}, int64(h.Ttl), canonicalData(rr)})
}

// relativeOwner makes a name of the file relative; unlike OwnerName it takes any characters.
func (f *zoneFile) relativeOwner(name string) (string, error) {
	canonical := dns.CanonicalName(name)
	if canonical == f.zone+"." {
		return Apex, nil
	}
	relative, ok := strings.CutSuffix(canonical, "."+f.zone+".")
	if !ok {
		return "", fmt.Errorf("%q is outside of zone %q", name, f.zone)
	}
	return relative, nil
}

// zoneOf is the resource's view of the file: everything but record sets of others. A record with a TTL of its
// own carries it as a comment, because only record sets have one, so that it shows as drift.
func (f *zoneFile) zoneOf() Zone {
	z := Zone{Name: f.zone, CIDR: f.prefix, TTL: f.ttl, SOA: f.soa, Serial: cmp.Or(f.ownSerial, f.serial), NameServers: f.nameServers, Records: Records{}}
	for _, r := range f.records {
		if _, owned := f.owned[r.rrset]; owned {
			continue
		}
		value := r.value
		if r.ttl != f.ttl {
			value = withTTL(r.rrType, value, r.ttl)
		}
		if z.Records[r.name] == nil {
			z.Records[r.name] = map[string][]string{}
		}
		z.Records[r.name][r.rrType] = append(z.Records[r.name][r.rrType], value)
	}
	for i, line := range f.broken {
		z.Records[fmt.Sprintf("; not understood %d", i+1)] = map[string][]string{"?": {line}}
	}
	return z
}
