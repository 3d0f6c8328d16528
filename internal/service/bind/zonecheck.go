package bind

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/miekg/dns"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// Validate checks the zone without asking any machine.
func (z Zone) Validate() []service.Problem {
	var problems []service.Problem
	name, err := z.CanonicalName()
	if err != nil {
		return []service.Problem{service.Problemf([]any{z.nameAttribute()}, "Invalid zone", "%v", err)}
	}
	problems = append(problems, checkTTL([]any{"ttl"}, z.TTL)...)
	if z.Forward != nil {
		return append(problems, z.checkForward()...)
	}
	problems = append(problems, z.checkSOA(name)...)
	problems = append(problems, checkMatchList("allow_transfer", z.AllowTransfer)...)
	sets, found := z.canonicalSets()
	problems = append(problems, found...)
	return append(problems, z.checkShape(name, sets)...)
}

func (z Zone) nameAttribute() string {
	if z.Name == "" && z.CIDR != "" {
		return "cidr"
	}
	return "name"
}

// CanonicalName is the zone's name from Name, or from CIDR; "" while neither is known.
func (z Zone) CanonicalName() (string, error) {
	if z.Name == "" && z.CIDR != "" {
		p, err := ParseCIDR(z.CIDR)
		if err != nil {
			return "", err
		}
		return ReverseZone(p), nil
	}
	if z.Name == "" {
		return "", nil
	}
	return ZoneName(z.Name)
}

// ParseCIDR reads a prefix and refuses one with host bits.
func ParseCIDR(text string) (netip.Prefix, error) {
	p, err := netip.ParsePrefix(text)
	if err != nil {
		return p, fmt.Errorf("%q is no prefix; write an address and a length, such as \"10.0.0.0/24\"", text)
	}
	if p != p.Masked() {
		return p, fmt.Errorf("%q has bits set behind its length; write %q", text, p.Masked())
	}
	return p, nil
}

func checkTTL(at []any, ttl int64) []service.Problem {
	if ttl < 0 || ttl > MaxTTL {
		return []service.Problem{service.Problemf(at, "TTL out of range", "%d is no TTL; write a number of seconds from 0 to %d", ttl, MaxTTL)}
	}
	return nil
}

func (z Zone) checkForward() []service.Problem {
	var problems []service.Problem
	if len(z.Records) > 0 {
		problems = append(problems, service.Problemf([]any{"records"}, "Records in a forward zone", "a forward zone has no records of its own; leave out records, or forward"))
	}
	if len(z.Pointers) > 0 {
		problems = append(problems, service.Problemf([]any{"pointers"}, "Pointers in a forward zone", "a forward zone has no records of its own; leave out pointers, or forward"))
	}
	if z.Forward.Servers != nil && len(z.Forward.Servers) == 0 {
		problems = append(problems, service.Problemf([]any{"forward", "servers"}, "No servers", "name at least one server to forward to"))
	}
	return append(problems, checkForwarders([]any{"forward", "servers"}, z.Forward.Servers)...)
}

func (z Zone) checkSOA(zone string) []service.Problem {
	var problems []service.Problem
	for _, f := range []struct {
		name  string
		value int64
	}{{"refresh", z.SOA.Refresh}, {"retry", z.SOA.Retry}, {"expire", z.SOA.Expire}, {"minimum", z.SOA.Minimum}} {
		problems = append(problems, checkTTL([]any{"soa", f.name}, f.value)...)
	}
	if strings.Contains(z.SOA.RName, "@") {
		problems = append(problems, service.Problemf([]any{"soa", "rname"}, "Invalid mailbox name",
			"a mailbox in DNS is written as a name: %q instead of %q", strings.Replace(z.SOA.RName, "@", ".", 1)+".", z.SOA.RName))
	}
	if zone == "" {
		return problems // names relative to a zone that is not known yet say nothing
	}
	if name, err := Value("NS", z.SOA.RName, zone); err == nil {
		if _, domain, _ := strings.Cut(strings.TrimSuffix(name, "."), "."); !strings.Contains(name, `\`) && domain != "" && !isHost(domain) {
			problems = append(problems, service.Problemf([]any{"soa", "rname"}, "Invalid mailbox name",
				"%q is the mailbox %q, and BIND's check-names takes letters, digits and hyphens only behind its first label; write an absolute name, such as %q",
				z.SOA.RName, name, DefaultMailbox(zone)))
		}
	}
	for name, text := range map[string]string{"mname": z.SOA.MName, "rname": z.SOA.RName} {
		server, err := Value("NS", text, zone)
		switch {
		case text == "" || strings.Contains(text, "@"):
		case err != nil:
			problems = append(problems, service.Problemf([]any{"soa", name}, "Invalid name", "%q: %v", text, err))
		case name == "mname" && !isMachine(server):
			problems = append(problems, service.Problemf([]any{"soa", name}, "Invalid name", notMachine, text, server))
		}
	}
	for i, ns := range z.NameServers {
		if ns == "" {
			continue // unknown until apply
		}
		if name, err := Value("NS", ns, zone); err != nil {
			problems = append(problems, service.Problemf([]any{"name_servers", i}, "Invalid name server", "%q: %v", ns, err))
		} else if !isMachine(name) {
			problems = append(problems, service.Problemf([]any{"name_servers", i}, "Invalid name server", notMachine, ns, name))
		} else if repeatsZone(ns, zone) {
			problems = append(problems, doubledZone([]any{"name_servers", i}, ns, zone))
		}
	}
	return problems
}

// canonicalSets are the records and pointers in canonical form, with what is wrong with them.
func (z Zone) canonicalSets() (map[rrset][]string, []service.Problem) {
	zone, err := z.CanonicalName()
	if err != nil || zone == "" {
		return nil, nil // reported at the name, or not known yet
	}
	sets := map[rrset][]string{}
	var problems []service.Problem
	for _, owner := range slices.Sorted(maps.Keys(z.Records)) {
		for _, rrType := range slices.Sorted(maps.Keys(z.Records[owner])) {
			at := []any{"records", service.Key(owner), service.Key(rrType)}
			set, values, found := canonicalSet(at, owner, rrType, z.Records[owner][rrType], zone)
			problems = append(problems, found...)
			problems = append(problems, z.checkOwnTTLs(at, rrType, z.Records[owner][rrType])...)
			if set.rrType == "NS" && set.name == Apex {
				problems = append(problems, service.Problemf(at, "Name servers among the records", "name the zone's own servers in name_servers"))
			}
			if _, twice := sets[set]; twice && len(found) == 0 {
				problems = append(problems, service.Problemf(at, "Same records twice", "%s %s is given under another spelling of the name too; put the values in one list", set.name, set.rrType))
			}
			sets[set] = values
		}
	}
	return sets, append(problems, z.addPointers(zone, sets)...)
}

// checkOwnTTLs checks the TTLs that stand behind values: the zone's own one would not be read back there.
func (z Zone) checkOwnTTLs(at []any, rrType string, values []string) []service.Problem {
	var problems []service.Problem
	for i, v := range values {
		here := append(slices.Clone(at), i)
		switch _, ttl := cutTTL(rrType, v); {
		case ttl == InheritTTL:
		case ttl == z.TTL:
			problems = append(problems, service.Problemf(here, "The zone's own TTL", "%q has the TTL that all records of the zone have: leave out \"; ttl %d\"", v, ttl))
		default:
			problems = append(problems, checkTTL(here, ttl)...)
		}
	}
	return problems
}

// canonicalSet converts one record set; at leads to its values, which are a list there or below "values".
func canonicalSet(at []any, owner, rrType string, values []string, zone string) (rrset, []string, []service.Problem) {
	set := rrset{rrType: strings.ToUpper(rrType)}
	ownerAt := at
	if len(at) > 1 {
		ownerAt = at[:len(at)-1]
	}
	var problems []service.Problem
	name, err := OwnerName(owner, zone)
	set.name = name
	switch {
	case err != nil:
		problems = append(problems, service.Problemf(ownerAt, "Invalid record name", "%v", err))
	case !isASCII(owner):
		problems = append(problems, service.Warningf(ownerAt, "Internationalised name", "%q is published as %q", owner, name))
	case repeatsZone(owner, zone):
		problems = append(problems, doubledZone(ownerAt, owner, zone))
	}
	if problem := checkType(set.rrType); problem != "" {
		return set, nil, append(problems, service.Problemf(at, "Invalid record type", "%s", problem))
	}
	if slices.Contains([]string{"A", "AAAA", "MX"}, set.rrType) && err == nil && !isHost(name) {
		problems = append(problems, service.Problemf(ownerAt, "Invalid host name", "%q carries %s records, so its labels may hold letters, digits and hyphens only (BIND's check-names refuses others)", owner, set.rrType))
	}
	canonical, found := canonicalValues(at, set.rrType, values, zone)
	return set, canonical, append(problems, found...)
}

// canonicalValues converts data and sorts it.
func canonicalValues(at []any, rrType string, values []string, zone string) ([]string, []service.Problem) {
	var problems []service.Problem
	if values != nil && len(values) == 0 {
		problems = append(problems, service.Problemf(at, "No values", "give at least one value, or leave the record set out"))
	}
	var canonical []string
	for i, v := range values {
		here := append(slices.Clone(at), i)
		c, err := Value(rrType, v, zone)
		data, _ := cutTTL(rrType, v)
		switch {
		case err != nil:
			problems = append(problems, service.Problemf(here, "Invalid "+rrType+" record", "%q: %v%s", v, err, exampleHint(rrType)))
			continue
		case slices.Contains(canonical, c):
			problems = append(problems, service.Problemf(here, "Same value twice", "%q means the same as a value before it", v))
			continue
		case nameTarget(rrType) && repeatsZone(lastField(data), zone):
			problems = append(problems, doubledZone(here, lastField(data), zone))
		}
		canonical = append(canonical, c)
	}
	slices.Sort(canonical)
	return canonical, problems
}

func nameTarget(rrType string) bool {
	return slices.Contains([]string{"NS", "CNAME", "DNAME", "PTR", "MX", "SRV"}, rrType)
}

func lastField(s string) string {
	if f := strings.Fields(s); len(f) > 0 {
		return f[len(f)-1]
	}
	return ""
}

func doubledZone(at []any, name, zone string) service.Problem {
	return service.Warningf(at, "Name without its dot", "%q is relative to the zone, so it means %q; write %q for the absolute name", name, name+"."+zone+".", name+".")
}

// exampleHint says what data of a type looks like.
func exampleHint(rrType string) string {
	example, ok := map[string]string{
		"A": "10.0.0.1", "AAAA": "fd00::1", "CNAME": "api", "MX": "10 mail.example.com.", "SRV": "0 10 2380 etcd-0.example.com.",
		"CAA": `0 issue \"ca.example.net\"`, "PTR": "host.example.com.", "NS": "ns1.example.com.",
	}[rrType]
	if !ok {
		return ""
	}
	return fmt.Sprintf("; write it like \"%s\"", example)
}

// notInFiles are types of questions, transport or signatures: no data that somebody writes into a zone file.
var notInFiles = []string{"None", "Reserved", "ANY", "AXFR", "IXFR", "MAILA", "MAILB", "OPT", "TSIG", "TKEY", "RRSIG", "SIG", "NSEC", "NSEC3", "NXNAME", "NULL", "NXT"}

// checkType says what is wrong with a record type in upper case.
func checkType(rrType string) string {
	_, ok := dns.StringToType[rrType]
	switch {
	case !ok:
		return fmt.Sprintf("there is no record type %q", rrType)
	case rrType == "SOA":
		return "the start of authority is described by soa"
	case slices.Contains(notInFiles, rrType):
		return fmt.Sprintf("%s is no type of data that a zone file holds", rrType)
	}
	return ""
}
