package bind

import (
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// addPointers adds the pointers of a reverse zone to its record sets.
func (z Zone) addPointers(zone string, sets map[rrset][]string) []service.Problem {
	if len(z.Pointers) == 0 {
		return nil
	}
	prefix, ok := z.pointerPrefix(zone)
	if !ok {
		return []service.Problem{service.Problemf([]any{"pointers"}, "Pointers in a forward lookup zone", "pointers need a reverse zone; give cidr instead of name, or PTR values in records")}
	}
	var problems []service.Problem
	seen := map[netip.Addr]bool{}
	for _, key := range slices.Sorted(maps.Keys(z.Pointers)) {
		at := []any{"pointers", service.Key(key)}
		a, err := service.ParseAddress(key)
		switch {
		case err != nil:
			problems = append(problems, service.Problemf(at, "Invalid address", "%q is no address; write it like %q", key, prefix.Addr().Next()))
			continue
		case !prefix.Contains(a):
			problems = append(problems, service.Problemf(at, "Address outside of the zone", "%s is not in %s", a, prefix))
			continue
		case seen[a]:
			problems = append(problems, service.Problemf(at, "Same address twice", "%s is given under another spelling too", a))
			continue
		}
		seen[a] = true
		if z.Pointers[key] == "" {
			continue // unknown until apply
		}
		target, err := pointerTarget(z.Pointers[key], zone)
		if err != nil {
			problems = append(problems, service.Problemf(at, "Invalid name", "%q: %v; write it like \"node-1.example.com.\"", z.Pointers[key], err))
			continue
		}
		set := rrset{PointerName(a, prefix), "PTR"}
		if _, twice := sets[set]; twice {
			problems = append(problems, service.Problemf(at, "Same records twice", "records has PTR values for %s too; keep them in one place", a))
			continue
		}
		sets[set] = []string{target}
	}
	return problems
}

// pointerTarget is the name that a pointer leads to, which is absolute with or without its dot.
func pointerTarget(name, zone string) (string, error) {
	return Value("PTR", strings.TrimSuffix(name, ".")+".", zone)
}

// pointerPrefix is what the pointers must lie in.
func (z Zone) pointerPrefix(zone string) (netip.Prefix, bool) {
	if z.CIDR != "" {
		p, err := ParseCIDR(z.CIDR)
		return p, err == nil
	}
	return ReversePrefix(zone)
}

// checkShape looks at the records together.
func (z Zone) checkShape(zone string, sets map[rrset][]string) []service.Problem {
	if zone == "" {
		return nil
	}
	byName := map[string][]string{}
	for set := range sets {
		byName[set.name] = append(byName[set.name], set.rrType)
	}
	at := func(owner string) []any {
		for spelled := range z.Records {
			if name, err := OwnerName(spelled, zone); err == nil && name == owner {
				return []any{"records", service.Key(spelled)}
			}
		}
		return []any{"records"}
	}
	var problems []service.Problem
	for _, owner := range slices.Sorted(maps.Keys(byName)) {
		if slices.Contains(byName[owner], "CNAME") {
			problems = append(problems, checkAlias(at, owner, byName[owner], sets)...)
		}
	}
	problems = append(problems, warnOfShadowed(at, byName)...)
	return append(problems, z.checkGlue(zone, sets)...)
}

// checkAlias applies RFC 1034, section 3.6.2: a CNAME is alone at its name.
func checkAlias(at func(string) []any, owner string, types []string, sets map[rrset][]string) []service.Problem {
	slices.Sort(types)
	switch {
	case owner == Apex:
		return []service.Problem{service.Problemf(at(owner), "CNAME at the zone's own name", "the zone's own name has SOA and NS records, and a CNAME may not stand beside other data; write address records")}
	case len(types) > 1:
		others := slices.DeleteFunc(slices.Clone(types), func(t string) bool { return t == "CNAME" })
		return []service.Problem{service.Problemf(at(owner), "CNAME beside other data", "%q has CNAME and %s records; a CNAME must be the only record of its name", owner, strings.Join(others, ", "))}
	case len(sets[rrset{owner, "CNAME"}]) > 1:
		return []service.Problem{service.Problemf(at(owner), "More than one CNAME", "%q has %d CNAME records; a name has one at most", owner, len(sets[rrset{owner, "CNAME"}]))}
	}
	return nil
}

// warnOfShadowed warns of names between a wildcard and a record (RFC 4592, section 2.2.2): they exist without data, so
// the wildcard answers neither for them nor for what is below them.
func warnOfShadowed(at func(string) []any, byName map[string][]string) []service.Problem {
	var problems []service.Problem
	warned := map[string]bool{}
	for _, owner := range slices.Sorted(maps.Keys(byName)) {
		for parent := parentOf(owner); parent != ""; parent = parentOf(parent) {
			wildcard := "*"
			if above := parentOf(parent); above != "" {
				wildcard += "." + above
			}
			_, exists := byName[parent]
			if exists || byName[wildcard] == nil || warned[parent] || strings.HasPrefix(parent, "_") || strings.HasPrefix(parent, "*") {
				continue
			}
			warned[parent] = true
			problems = append(problems, service.Warningf(at(owner), "Wildcard does not match below "+parent,
				"%q makes %q exist, so %q answers neither for it nor for names below it; add records for %q and %q if they shall answer", owner, parent, wildcard, parent, "*."+parent))
		}
	}
	return problems
}

// parentOf takes the first label off a relative name; "" at the zone itself.
func parentOf(name string) string {
	_, parent, _ := strings.Cut(name, ".")
	return parent
}

// checkGlue looks for the addresses of name servers in the zone, without which BIND refuses it. The place is
// records, so that nothing is said while they are unknown.
func (z Zone) checkGlue(zone string, sets map[rrset][]string) []service.Problem {
	var problems []service.Problem
	for _, ns := range z.NameServers {
		target, err := Value("NS", ns, zone)
		if err != nil {
			continue
		}
		owner, err := OwnerName(target, zone)
		if err != nil {
			continue // in another zone
		}
		if sets[rrset{owner, "A"}] == nil && sets[rrset{owner, "AAAA"}] == nil {
			problems = append(problems, service.Problemf([]any{"records"}, "Name server without an address",
				"name server %q is in the zone, so BIND wants its address there; add %q = { A = [\"…\"] }", target, owner))
		}
	}
	return problems
}
