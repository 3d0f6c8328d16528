package bind

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"
)

// SameData says whether two zones hold the same records, pointers included, however they are spelled.
func (z Zone) SameData(other Zone) bool {
	a, _ := z.canonicalSets()
	b, _ := other.canonicalSets()
	return maps.EqualFunc(a, b, slices.Equal)
}

// SameNames says whether two lists of names in a zone mean the same, in any order but for the first, which is
// the zone's primary server by default.
func SameNames(a, b []string, zone string) bool {
	return slices.Equal(canonicalNames(a, zone), canonicalNames(b, zone))
}

func canonicalNames(list []string, zone string) []string {
	canonical := make([]string, len(list))
	for i, n := range list {
		c, err := Value("NS", n, zone)
		if err != nil {
			c = n
		}
		canonical[i] = c
	}
	return canonical
}

// Spell returns what was read back in the spelling of z where that means the same: what a configuration says
// about a zone is no drift because BIND's files say it in another way.
func (z Zone) Spell(got Zone) Zone {
	zone := got.Name
	spelled := got
	if name, err := z.CanonicalName(); err == nil && name == zone {
		spelled.Name, spelled.CIDR = z.Name, cmp.Or(z.CIDR, got.CIDR)
	}
	if spelled.Name == "" {
		spelled.Name = zone
	}
	if SameNames(z.NameServers, got.NameServers, zone) {
		spelled.NameServers = z.NameServers
	}
	if full, err := z.FullSOA(); err == nil {
		if full.MName == got.SOA.MName && z.SOA.MName != "" {
			spelled.SOA.MName = z.SOA.MName
		}
		if full.RName == got.SOA.RName && z.SOA.RName != "" {
			spelled.SOA.RName = z.SOA.RName
		}
	}
	if SameMatches(z.AllowTransfer, got.AllowTransfer) {
		spelled.AllowTransfer = z.AllowTransfer
	}
	if z.Forward != nil && got.Forward != nil && SameServers(z.Forward.Servers, got.Forward.Servers) {
		spelled.Forward = &Forward{Servers: z.Forward.Servers, Only: got.Forward.Only}
	}
	spelled.Pointers = z.spellPointers(got, zone)
	spelled.Records = z.spellRecords(got, spelled.Pointers, zone)
	return spelled
}

// spellPointers picks the pointers out of what was read back: one for a whole address, unless z has it among
// its records.
func (z Zone) spellPointers(got Zone, zone string) map[string]string {
	prefix, ok := ReversePrefix(zone)
	if !ok {
		return z.Pointers
	}
	among := map[rrset]bool{}
	for owner, types := range z.Records {
		for rrType := range types {
			if name, err := OwnerName(owner, zone); err == nil {
				among[rrset{name, rrType}] = true
			}
		}
	}
	spelling := map[netip.Addr]string{}
	for key := range z.Pointers {
		if a, err := netip.ParseAddr(key); err == nil {
			spelling[a] = key
		}
	}
	pointers := map[string]string{}
	for owner, types := range got.Records {
		a, whole := PointerAddress(owner, prefix)
		if !whole || len(types["PTR"]) != 1 || among[rrset{owner, "PTR"}] {
			continue
		}
		key, spelled := spelling[a]
		if !spelled {
			key = a.String()
		}
		pointers[key] = types["PTR"][0]
		if c, err := pointerTarget(z.Pointers[key], zone); spelled && err == nil && c == types["PTR"][0] {
			pointers[key] = z.Pointers[key]
		}
	}
	if len(pointers) == 0 && z.Pointers == nil {
		return nil
	}
	return pointers
}

// spellRecords takes what was read back but for the pointers.
func (z Zone) spellRecords(got Zone, pointers map[string]string, zone string) Records {
	owners := map[string]string{} // canonical owner → z's spelling
	for _, spelled := range slices.Sorted(maps.Keys(z.Records)) {
		if name, err := OwnerName(spelled, zone); err == nil && owners[name] == "" {
			owners[name] = spelled
		}
	}
	records := Records{}
	put := func(owner, rrType string, values []string) {
		if records[owner] == nil {
			records[owner] = map[string][]string{}
		}
		records[owner][rrType] = values
	}
	rest := map[rrset][]string{}
	for owner, types := range got.Records {
		for rrType, values := range types {
			rest[rrset{owner, rrType}] = values
		}
	}
	if prefix, ok := ReversePrefix(zone); ok {
		for key := range pointers {
			if a, err := netip.ParseAddr(key); err == nil {
				delete(rest, rrset{PointerName(a, prefix), "PTR"})
			}
		}
	}
	for spelled, types := range z.Records {
		name, err := OwnerName(spelled, zone)
		if err != nil {
			continue
		}
		if len(types) == 0 && len(got.Records[name]) == 0 {
			records[spelled] = map[string][]string{}
		}
		for rrType, values := range types {
			set, _, _ := canonicalSet([]any{""}, spelled, rrType, nil, zone)
			if found, ok := rest[set]; ok && set.name == name {
				put(spelled, rrType, SpellValues(values, found, set.rrType, zone))
				delete(rest, set)
			}
		}
	}
	for set, values := range rest {
		owner, ok := owners[set.name]
		if !ok {
			owner = set.name
		}
		put(owner, set.rrType, values)
	}
	if len(records) == 0 && z.Records == nil {
		return nil
	}
	return records
}

// SpellValues returns canonical data in own's spelling and order; what own does not have comes last.
func SpellValues(own, got []string, rrType, zone string) []string {
	left := slices.Clone(got)
	var spelled []string
	for _, v := range own {
		c, err := Value(rrType, v, zone)
		if err != nil {
			continue
		}
		if at := slices.Index(left, c); at >= 0 {
			spelled = append(spelled, v)
			left = slices.Delete(left, at, at+1)
		}
	}
	slices.Sort(left)
	return append(spelled, left...)
}

// SameValues says whether two lists of record data mean the same, in any order.
func SameValues(a, b []string, rrType, zone string) bool {
	canonical := func(list []string) []string {
		var all []string
		for _, v := range list {
			c, err := Value(rrType, v, zone)
			if err != nil {
				c = v
			}
			all = append(all, c)
		}
		slices.Sort(all)
		return all
	}
	return slices.Equal(canonical(a), canonical(b))
}
