package exposure

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// incoming are the chains of iptables that see packets as they come in, with their priorities (linux/netfilter_ipv4.h).
var incoming = map[string]baseChain{"raw": {"PREROUTING", -300}, "mangle": {"PREROUTING", -150}, "nat": {"PREROUTING", -100}}

// iptablesReader reads what iptables-save prints.
type iptablesReader struct {
	rules ruleset
	table *ruleTable
	// listed are the tables of nftables that are read, as a family and a name: nft cannot say all of what iptables keeps there.
	listed map[string]bool
}

// readRule takes one line; program is what printed it, and family that of its rules.
func (r *iptablesReader) readRule(program, family, line string) {
	switch {
	case strings.HasPrefix(line, "*"):
		name := line[1:]
		if !strings.Contains(program, "legacy") {
			if r.listed == nil {
				r.listed = map[string]bool{}
			}
			r.listed[family+" "+name] = true
		}
		r.table = &ruleTable{name: "the table " + name + " of " + program, family: family, chains: map[string][]rule{}}
		if base, there := incoming[name]; there {
			r.table.bases = []baseChain{base}
			r.rules = append(r.rules, r.table)
		}
	case strings.HasPrefix(line, "-A ") && r.table != nil:
		words := splitWords(line)
		if len(words) > 2 {
			r.table.chains[words[1]] = append(r.table.chains[words[1]], parseIptables(line, words[2:]))
		}
	}
}

// splitWords splits a line at spaces, except within double quotes.
func splitWords(line string) []string {
	var words []string
	word, quoted, escaped := "", false, false
	end := func() {
		if word != "" {
			words, word = append(words, word), ""
		}
	}
	for _, c := range line {
		switch {
		case escaped:
			word, escaped = word+string(c), false
		case c == '\\' && quoted:
			escaped = true
		case c == '"':
			quoted = !quoted
		case c == ' ' && !quoted:
			end()
		default:
			word += string(c)
		}
	}
	end()
	return words
}

// harmless are the extensions and options that let every new connection pass, or with --statistic some of each place.
var harmless = []string{"comment", "tcp", "udp", "multiport", "addrtype", "conntrack", "state", "statistic"}

// parseIptables reads a rule (iptables-extensions(8)). A condition that is not known may hold.
func parseIptables(text string, words []string) rule {
	r := rule{text: "the rule " + text}
	negated := false
	for i := 0; i < len(words); i++ {
		word, value := words[i], ""
		if word == "!" {
			negated = true
			continue
		}
		if i+1 < len(words) {
			value = words[i+1]
		}
		if word == "-j" || word == "-g" {
			r.verdict, r.chain = verdictOf(word, value)
			break // what follows are the target's options
		}
		var c condition
		switch word {
		case "-p":
			c = protocolOf(value)
		case "-d":
			if prefix, err := parseMask(value); err == nil {
				c = toAddresses(prefix.Contains)
				r.namesAddress = !negated
			}
		case "-i":
			c, negated = byDevice(value, "+", negated), false
		case "--dport", "--dports", "--destination-port", "--destination-ports":
			c, r.namesPort = portsOf(value), true
		case "--dst-type":
			c = func(arrival) truth { return toTruth(strings.Contains(value, "LOCAL")) }
		case "--ctstate", "--state":
			c = func(arrival) truth { return toTruth(strings.Contains(value, "NEW")) }
		case "-m":
			if c = maybeHolds; slices.Contains(harmless, value) {
				c = alwaysHolds
			}
		case "--comment", "--mode", "--probability", "--every", "--packet":
			c = alwaysHolds
		default:
			c = maybeHolds
		}
		if c == nil {
			c = maybeHolds
		}
		if negated && word != "-m" {
			c = negateCondition(c)
		}
		if r.conditions = append(r.conditions, c); !strings.HasPrefix(value, "-") && value != "!" {
			i++
		}
		negated = false
	}
	return r
}

func protocolOf(text string) condition {
	switch text {
	case "all", "0":
		return alwaysHolds
	case "6":
		text = TCP
	case "17":
		text = UDP
	}
	return ofProtocol(text)
}

// parseMask reads an address, with the length of its prefix or with a mask of IPv4.
func parseMask(text string) (netip.Prefix, error) {
	address, mask, _ := strings.Cut(text, "/")
	a, err := netip.ParseAddr(address)
	if err != nil {
		return netip.Prefix{}, err
	}
	if m, err := netip.ParseAddr(mask); err == nil && m.Is4() {
		length := 0
		for _, part := range m.As4() {
			for ; part&0x80 != 0; part <<= 1 {
				length++
			}
		}
		return a.Prefix(length)
	}
	length, err := strconv.Atoi(mask)
	if err != nil {
		length = a.BitLen()
	}
	return a.Prefix(length)
}

// portsOf reads "80", "80:90" or several of these, with commas between.
func portsOf(text string) condition {
	var all []condition
	for span := range strings.SplitSeq(text, ",") {
		from, to, isRange := strings.Cut(span, ":")
		if !isRange {
			to = from
		}
		first, errFirst := strconv.ParseUint(from, 10, 16)
		last, errLast := strconv.ParseUint(to, 10, 16)
		if errFirst != nil || errLast != nil {
			return maybeHolds
		}
		all = append(all, ofPorts(uint16(first), uint16(last)))
	}
	return anyOf(all)
}

// verdictOf says what a target does. One that is not known is a chain, or lets pass.
func verdictOf(option, target string) (verdict, string) {
	switch target {
	case "DNAT", "REDIRECT", "TPROXY", "NETMAP":
		return translates, ""
	case "ACCEPT", "DROP", "REJECT", "QUEUE", "NFQUEUE":
		return ends, ""
	case "RETURN":
		return returns, ""
	}
	if option == "-g" {
		return goes, target
	}
	return jumps, target
}
