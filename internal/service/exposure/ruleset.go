package exposure

import (
	"net/netip"
	"slices"
)

// ruleset is what of a machine's rules sees packets as they come in, and so may lead them elsewhere: of nftables, and of both programs called
// iptables. The provider's own table is not in it.
type ruleset []*ruleTable

// ruleTable is a table of rules of one or both families.
type ruleTable struct {
	// name is what messages call it.
	name   string
	family string // "ip", "ip6", or "inet" for both
	chains map[string][]rule
	// bases are the chains that packets come to first.
	bases []baseChain
}

type baseChain struct {
	name     string
	priority int
}

// rule is one of a chain. What decides by a map is a rule for each element of it.
type rule struct {
	text       string
	conditions []condition
	// namesPort and namesAddress say that a condition is about the port, or the address, that a packet comes to.
	namesPort, namesAddress bool
	verdict                 verdict
	chain                   string // of jumps and goes
}

type verdict int

const (
	passes verdict = iota // to the next rule
	translates
	ends // whether it accepts or drops
	returns
	jumps
	goes
)

// arrival is where packets come to.
type arrival struct {
	family string
	// addresses are one, or all of the machine.
	addresses []netip.Addr
	// protocol and port are zero where they are any.
	protocol string
	port     uint16
	// device is the one that they come by, "" where it is not known.
	device string
}

// truth is what is known of a condition: of the packets that come to a place it holds for none, for some or perhaps, or for all.
type truth int

const (
	no truth = iota
	maybe
	yes
)

type condition func(arrival) truth

func toTruth(holds bool) truth {
	if holds {
		return yes
	}
	return no
}

// anyOf holds where one of several conditions does; of none it does not.
func anyOf(all []condition) condition {
	return func(p arrival) truth {
		best := no
		for _, c := range all {
			best = max(best, c(p))
		}
		return best
	}
}

// allOf holds where all of several conditions do.
func allOf(all []condition) condition {
	return func(p arrival) truth {
		worst := yes
		for _, c := range all {
			worst = min(worst, c(p))
		}
		return worst
	}
}

func negateCondition(c condition) condition {
	return func(p arrival) truth { return yes - c(p) }
}

// maybeHolds is the condition of everything that a place does not say: who sends, marks, sets of another program.
func maybeHolds(arrival) truth { return maybe }

func alwaysHolds(arrival) truth { return yes }

func ofFamily(family string) condition {
	return func(p arrival) truth { return toTruth(p.family == family) }
}

func ofProtocol(protocol string) condition {
	return func(p arrival) truth {
		if p.protocol == "" {
			return maybe
		}
		return toTruth(p.protocol == protocol)
	}
}

func ofPorts(first, last uint16) condition {
	return func(p arrival) truth {
		if p.port == 0 {
			return maybe
		}
		return toTruth(first <= p.port && p.port <= last)
	}
}

// toAddresses holds for packets to the addresses that contains says; of several that a place has, it may be some.
func toAddresses(contains func(netip.Addr) bool) condition {
	return func(p arrival) truth {
		some := slices.ContainsFunc(p.addresses, contains)
		if some && slices.ContainsFunc(p.addresses, func(a netip.Addr) bool { return !contains(a) }) {
			return maybe
		}
		return toTruth(some)
	}
}

// byDevice holds for packets that come by a device, or by none whose name begins so where it ends in wildcard. What comes by the loopback
// device is the machine's own.
func byDevice(name, wildcard string, negated bool) condition {
	return func(p arrival) truth {
		begin, pattern := trimSuffix(name, wildcard)
		matches := p.device == name || pattern && len(p.device) >= len(begin) && p.device[:len(begin)] == begin
		switch {
		case name == "lo":
			return toTruth(negated)
		case p.device == "" && negated:
			return yes
		case p.device == "":
			return maybe
		}
		return toTruth(matches != negated)
	}
}

func trimSuffix(text, suffix string) (string, bool) {
	if n := len(text) - len(suffix); n >= 0 && text[n:] == suffix {
		return text[:n], true
	}
	return text, false
}

// translation is a rule that leads what comes to a place elsewhere.
type translation struct {
	words string
	// sure says that it does so with all of it, addressed that the rules on the way name the address, and priority which hook it is at.
	sure, addressed bool
	priority        int
}

// findTranslations lists the rules that lead what comes to a place elsewhere, the surest of each chain that packets come to first.
func (s ruleset) findTranslations(p arrival) []translation {
	var all []translation
	for _, t := range s {
		if t.family != "inet" && t.family != p.family {
			continue
		}
		for _, base := range t.bases {
			w := walk{table: t, place: p}
			if w.passChain(base.name, step{so: yes}); w.found != nil {
				w.found.priority = base.priority
				all = append(all, *w.found)
			}
		}
	}
	return all
}

// walk goes through a table as packets to a place do.
type walk struct {
	table *ruleTable
	place arrival
	found *translation
}

// step is what is known on the way to a rule.
type step struct {
	so        truth
	text      string
	addressed bool
	depth     int
}

// deepest is how far chains may lead to others: the kernel takes sixteen.
const deepest = 16

// passChain goes through a chain, and says whether no packet comes back from it.
func (w *walk) passChain(chain string, at step) (decided bool) {
	if at.depth++; at.depth > deepest {
		return false
	}
	for _, r := range w.table.chains[chain] {
		holds := allOf(r.conditions)(w.place)
		if holds == no {
			continue
		}
		next := at
		next.so = min(at.so, holds)
		next.addressed = at.addressed || r.namesAddress
		if r.namesPort || next.text == "" {
			next.text = r.text
		}
		switch r.verdict {
		case translates:
			w.noteTranslation(next)
			decided = true
		case ends:
			decided = true
		case jumps, goes:
			decided = w.passChain(r.chain, next)
		default:
			decided = false
		}
		if holds == yes && (decided || r.verdict == returns || r.verdict == goes) {
			return decided
		}
	}
	return false
}

func (w *walk) noteTranslation(at step) {
	if sure := at.so == yes; w.found == nil || sure && !w.found.sure {
		w.found = &translation{words: at.text + " in " + w.table.name, sure: sure, addressed: at.addressed}
	}
}
