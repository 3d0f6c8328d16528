package exposure

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"strings"

	"go4.org/netipx"
)

// listing is what `nft --json list ruleset` prints (libnftables-json(5)), as far as it tells where packets go.
type listing struct {
	Nftables []struct {
		Chain *struct {
			Family, Table, Name, Hook string
			Prio                      int
		}
		Set  *elements
		Map  *elements
		Rule *struct {
			Family, Table, Chain string
			Handle               int
			Expr                 []map[string]any
		}
	}
}

type elements struct {
	Family, Table, Name string
	Elem                []any
}

// nftReader turns a listing into tables.
type nftReader struct {
	tables map[string]*ruleTable
	// sets are those that have names, maps too, by table and name.
	sets map[string][]any
	all  ruleset
}

// readNft reads a listing. Tables that skip says are left out: others have read them.
func readNft(text []byte, skip func(family, table string) bool) (ruleset, error) {
	var list listing
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, fmt.Errorf("read the rules of nftables: %w", err)
	}
	r := nftReader{tables: map[string]*ruleTable{}, sets: map[string][]any{}}
	for _, o := range list.Nftables {
		for _, set := range []*elements{o.Set, o.Map} {
			if set != nil {
				r.sets[set.Family+" "+set.Table+" "+set.Name] = set.Elem
			}
		}
		if c := o.Chain; c != nil && c.Hook == "prerouting" && !skip(c.Family, c.Table) {
			t := r.findTable(c.Family, c.Table)
			t.bases = append(t.bases, baseChain{c.Name, c.Prio})
		}
	}
	for _, o := range list.Nftables {
		if o.Rule == nil || r.tables[o.Rule.Family+" "+o.Rule.Table] == nil {
			continue // nothing that comes in gets there
		}
		t := r.findTable(o.Rule.Family, o.Rule.Table)
		text := fmt.Sprintf("rule %d of chain %s", o.Rule.Handle, o.Rule.Chain)
		scope := scope{sets: r.sets, table: o.Rule.Family + " " + o.Rule.Table}
		t.chains[o.Rule.Chain] = append(t.chains[o.Rule.Chain], scope.readRules(text, o.Rule.Expr)...)
	}
	return r.all, nil
}

func (r *nftReader) findTable(family, name string) *ruleTable {
	key := family + " " + name
	if r.tables[key] == nil {
		r.tables[key] = &ruleTable{name: fmt.Sprintf("the table %s %s of nftables (nft --handle list table %[1]s %[2]s)", family, name), family: family, chains: map[string][]rule{}}
		if family == "ip" || family == "ip6" || family == "inet" {
			r.all = append(r.all, r.tables[key])
		}
	}
	return r.tables[key]
}

// scope is where a rule finds the sets that it names.
type scope struct {
	sets  map[string][]any
	table string
}

// readRules reads a rule: several where it decides by a map.
func (s scope) readRules(text string, expressions []map[string]any) []rule {
	base := rule{text: text}
	for _, expression := range expressions {
		for name, value := range expression {
			o := toObject(value)
			switch name {
			case "match":
				s.addMatch(&base, o)
			case "limit", "quota":
				base.conditions = append(base.conditions, maybeHolds)
			case "xt":
				base.addExtension(o)
			case "vmap":
				return s.mappedRules(base, o)
			case "dnat", "redirect", "tproxy":
				base.verdict = translates
				for _, part := range []string{"addr", "port"} {
					if m := toObject(o[part])["map"]; m != nil {
						base.addCondition(s.inMap(toObject(m)))
					}
				}
			default:
				if v, chain := verdictIn(expression); v != passes && base.verdict == passes {
					base.verdict, base.chain = v, chain
				}
			}
		}
	}
	return []rule{base}
}

// addExtension takes a match or a target of iptables that nft does not translate.
func (r *rule) addExtension(o map[string]any) {
	name, _ := o["name"].(string)
	switch {
	case o["type"] == "target":
		if v, _ := verdictOf("-j", name); v == translates {
			r.verdict = v
		}
	case name != "comment":
		r.conditions = append(r.conditions, maybeHolds)
	}
}

func verdictIn(expression map[string]any) (verdict, string) {
	for name, value := range expression {
		target, _ := toObject(value)["target"].(string)
		switch name {
		case "accept", "drop", "reject", "queue":
			return ends, ""
		case "return":
			return returns, ""
		case "jump":
			return jumps, target
		case "goto":
			return goes, target
		}
	}
	return passes, ""
}

// mappedRules is a rule for each element of a map of verdicts.
func (s scope) mappedRules(base rule, o map[string]any) []rule {
	var all []rule
	for _, element := range s.listElements(o["data"]) {
		pair, _ := element.([]any)
		if len(pair) != 2 {
			continue
		}
		r := base
		r.conditions = append([]condition{}, base.conditions...)
		r.addCondition(matchOf(o["key"], []any{pair[0]}))
		r.verdict, r.chain = verdictIn(toObject(pair[1]))
		all = append(all, r)
	}
	return all
}

// inMap is the condition that a key is in a map.
func (s scope) inMap(o map[string]any) (condition, keyed) {
	var keys []any
	for _, element := range s.listElements(o["data"]) {
		if pair, _ := element.([]any); len(pair) == 2 {
			keys = append(keys, pair[0])
		}
	}
	return matchOf(o["key"], keys)
}

func (s scope) addMatch(r *rule, o map[string]any) {
	values := []any{o["right"]}
	if all, isSet := s.setElements(o["right"]); isSet {
		values = all
	}
	c, of := matchOf(o["left"], values)
	switch op, _ := o["op"].(string); {
	case op == "==" || op == "in":
		r.addCondition(c, of)
	case op == "!=" && of.device:
		name, _ := o["right"].(string)
		r.conditions = append(r.conditions, byDevice(name, "*", true))
	case op == "!=":
		of.address = false
		r.addCondition(negateCondition(c), of)
	default:
		r.conditions = append(r.conditions, maybeHolds)
	}
}

func (r *rule) addCondition(c condition, of keyed) {
	r.conditions = append(append(r.conditions, of.implied...), c)
	r.namesPort = r.namesPort || of.port
	r.namesAddress = r.namesAddress || of.address
}

// setElements returns the elements of a set that is written or named; flags such as those of a connection's state are written as a list.
func (s scope) setElements(value any) ([]any, bool) {
	if name, _ := value.(string); strings.HasPrefix(name, "@") {
		return s.listElements(value), true
	}
	if list, is := value.([]any); is {
		return list, true
	}
	_, is := toObject(value)["set"]
	return s.listElements(value), is
}

func (s scope) listElements(value any) []any {
	if name, _ := value.(string); strings.HasPrefix(name, "@") {
		return s.sets[s.table+" "+name[1:]]
	}
	all, _ := toObject(value)["set"].([]any)
	return all
}

// keyed says what a condition is about, and what goes without saying where it is about that.
type keyed struct {
	port, address, device bool
	implied               []condition
}

// matchOf is the condition that a key has one of several values.
func matchOf(key any, values []any) (condition, keyed) {
	parts, joined := toObject(key)["concat"].([]any)
	if !joined {
		parts = []any{key}
	}
	var of keyed
	for _, part := range parts {
		name := fieldOf(part)
		of.port, of.address, of.device = of.port || name == "dport", of.address || name == "daddr", of.device || name == "iifname"
		of.implied = append(of.implied, protocolIn(part))
	}
	all := make([]condition, 0, len(values))
	for _, value := range values {
		if element := toObject(toObject(value)["elem"]); element["val"] != nil {
			value = element["val"]
		}
		of := []any{value}
		if list, is := toObject(value)["concat"].([]any); is {
			of = list
		}
		if len(of) != len(parts) {
			all = append(all, maybeHolds)
			continue
		}
		tuple := make([]condition, 0, len(parts))
		for i, part := range parts {
			tuple = append(tuple, valueOf(fieldOf(part), of[i]))
		}
		all = append(all, allOf(tuple))
	}
	return anyOf(all), of
}

// fieldOf is what a key reads of a packet, "" for what a place says nothing of.
func fieldOf(key any) string {
	o := toObject(key)
	payload, meta, fib := toObject(o["payload"]), toObject(o["meta"]), toObject(o["fib"])
	field, _ := payload["field"].(string)
	word, _ := meta["key"].(string)
	switch {
	case field == "daddr" || field == "dport":
		return field
	case field == "protocol" || field == "nexthdr" || word == "l4proto":
		return "protocol"
	case word == "iifname" || word == "iif":
		return "iifname"
	case word == "nfproto" || word == "protocol":
		return "family"
	case fib["result"] == "type" && strings.Contains(fmt.Sprint(fib["flags"]), "daddr"):
		return "type"
	case toObject(o["ct"])["key"] == "state":
		return "state"
	}
	return ""
}

// protocolIn is the condition that a packet has a key, where that is a part of a protocol's.
func protocolIn(key any) condition {
	switch protocol, _ := toObject(toObject(key)["payload"])["protocol"].(string); protocol {
	case "ip", "ip6":
		return ofFamily(protocol)
	case TCP, UDP:
		return ofProtocol(protocol)
	case "th", "":
		return alwaysHolds
	}
	return func(arrival) truth { return no } // sctp, icmp and so on
}

func valueOf(field string, value any) condition {
	text, _ := value.(string)
	switch field {
	case "daddr":
		return addressIn(value)
	case "dport":
		return portIn(value)
	case "protocol":
		if number, is := value.(float64); is {
			text = fmt.Sprint(number)
		}
		return protocolOf(text)
	case "iifname":
		return byDevice(text, "*", false)
	case "family":
		return ofFamily(map[string]string{"ipv4": "ip", "ip": "ip", "ipv6": "ip6", "ip6": "ip6"}[text])
	case "type":
		return func(arrival) truth { return toTruth(text == "local") }
	case "state":
		return func(arrival) truth { return toTruth(text == "new") }
	}
	return maybeHolds
}

func addressIn(value any) condition {
	o := toObject(value)
	prefix := toObject(o["prefix"])
	ends, _ := o["range"].([]any)
	switch {
	case prefix != nil:
		if p, err := netip.ParsePrefix(fmt.Sprintf("%v/%v", prefix["addr"], prefix["len"])); err == nil {
			return toAddresses(p.Contains)
		}
	case len(ends) == 2:
		if run, err := netipx.ParseIPRange(fmt.Sprintf("%v-%v", ends[0], ends[1])); err == nil {
			return toAddresses(run.Contains)
		}
	default:
		if a, err := netip.ParseAddr(fmt.Sprint(value)); err == nil {
			return toAddresses(func(b netip.Addr) bool { return a == b })
		}
	}
	return maybeHolds
}

func portIn(value any) condition {
	ends, _ := toObject(value)["range"].([]any)
	if len(ends) != 2 {
		ends = []any{value, value}
	}
	first, isFirst := ends[0].(float64)
	last, isLast := ends[1].(float64)
	if !isFirst || !isLast {
		return maybeHolds
	}
	return ofPorts(uint16(first), uint16(last))
}

func toObject(value any) map[string]any {
	o, _ := value.(map[string]any)
	return o
}
