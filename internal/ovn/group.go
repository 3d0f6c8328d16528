package ovn

import (
	"fmt"
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// SecurityGroup lets something pass the ports that are in it, and nothing else, in plain values.
type SecurityGroup struct {
	Name  string         `attr:"name"`
	Rules []SecurityRule `attr:"rules"`
	// AddressSets are addresses and prefixes that rules name.
	AddressSets map[string][]string `attr:"address_sets,canonical"`
}

// SecurityRule lets something pass, with the answers to it.
type SecurityRule struct {
	// Direction is as the guest sees it: Ingress or Egress.
	Direction string `attr:"direction"`
	Protocol  string `attr:"protocol"`
	// Ports are those that are reached, "22" or "30000-32767"; "" for all.
	Ports string `attr:"ports"`
	// Remote is the other side: an address, a prefix, an address set of the group, or a group; "" for everybody.
	Remote string `attr:"remote,canonical"`
}

// Directions of a rule.
const (
	Ingress = "ingress"
	Egress  = "egress"
)

// securityProtocol is how OVN's expressions know a protocol. One that nobody follows connections of passes each way by a rule of its own.
type securityProtocol struct {
	match               string
	four, six           bool
	hasPorts, stateless bool
}

var securityProtocols = map[string]securityProtocol{
	"any": {"ip", true, true, false, false}, "tcp": {"tcp", true, true, true, false}, "udp": {"udp", true, true, true, false}, "sctp": {"sctp", true, true, true, false},
	"icmp": {"icmp4", true, false, false, false}, "icmpv6": {"icmp6", false, true, false, false},
	"esp": {"ip.proto == 50", true, true, false, true}, "ah": {"ip.proto == 51", true, true, false, true}, "gre": {"ip.proto == 47", true, true, false, true}, "VRRP": {"ip.proto == 112", true, true, false, true},
}

// SecurityProtocols are what a rule may let pass.
func SecurityProtocols() []string { return slices.Sorted(maps.Keys(securityProtocols)) }

var portsText = regexp.MustCompile(`^([0-9]{1,5})(?:-([0-9]{1,5}))?$`)

// CheckGroupName refuses what OVN's expressions do not take for the name of a group or an address set.
var CheckGroupName = service.NewForm(`^[A-Za-z_][A-Za-z0-9_]*$`, `write letters, digits and _ as in "web_servers", with no digit in front`)

// CheckPorts refuses what is neither a port nor a range of them.
func CheckPorts(text string) error {
	if _, _, ok := portRange(text); !ok {
		return fmt.Errorf("write a port such as 22 or a range such as 30000-32767, not %q", text)
	}
	return nil
}

// CheckRemote refuses what is no address, no prefix and no name.
func CheckRemote(text string) error {
	if _, ok := prefixOf(text); ok || CheckGroupName(text) == nil {
		return nil
	}
	return fmt.Errorf("write an address, a prefix such as 10.19.41.0/24, or the name of an address set or of a group, not %q", text)
}

// portRange reads a range of ports; both are 0 of none.
func portRange(text string) (first, last int, ok bool) {
	if text == "" {
		return 0, 0, true
	}
	parts := portsText.FindStringSubmatch(text)
	if parts == nil {
		return 0, 0, false
	}
	first, _ = strconv.Atoi(parts[1])
	if last = first; parts[2] != "" {
		last, _ = strconv.Atoi(parts[2])
	}
	return first, last, first > 0 && first <= last && last <= 65535
}

// prefixOf reads an address or a prefix.
func prefixOf(text string) (netip.Prefix, bool) {
	if p, err := netip.ParsePrefix(text); err == nil {
		return p.Masked(), true
	}
	a, err := netip.ParseAddr(text)
	if err != nil || a.Zone() != "" {
		return netip.Prefix{}, false
	}
	return netip.PrefixFrom(a, a.BitLen()), true
}

// Validate finds what is wrong with the group.
func (g SecurityGroup) Validate() []service.Problem {
	var problems []service.Problem
	wrong := func(path []any, summary, format string, args ...any) {
		problems = append(problems, service.Problemf(path, summary, format, args...))
	}
	for i, r := range g.Rules {
		p, known := securityProtocols[r.Protocol]
		remote, isPrefix := prefixOf(r.Remote)
		switch {
		case !known:
		case r.Ports != "" && !p.hasPorts:
			wrong([]any{"rules", i, "ports"}, "Superfluous ports", "%s has no ports: leave them out, or write tcp, udp or sctp", r.Protocol)
		case isPrefix && (remote.Addr().Is4() && !p.four || remote.Addr().Is6() && !p.six):
			wrong([]any{"rules", i, "remote"}, "Other family", "nobody in %s speaks %s", remote, r.Protocol)
		case slices.Contains(g.Rules[:i], r):
			wrong([]any{"rules", i}, "Duplicate rule", "an earlier rule says the same: leave one of them out")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(g.AddressSets)) {
		for i, text := range g.AddressSets[name] {
			if _, ok := prefixOf(text); !ok {
				wrong([]any{"address_sets", service.Key(name), i}, "Invalid address", "write an address or a prefix, not %q", text)
			}
		}
	}
	return problems
}

// formatRule returns a rule in one line, by which its row knows it, and parseRule its inverse.
func (r SecurityRule) formatRule() string {
	return strings.Join([]string{r.Direction, r.Protocol, r.Ports, r.Remote}, " ")
}

func parseRule(text string) (r SecurityRule, ok bool) {
	words := strings.Split(text, " ")
	if len(words) != 4 {
		return r, false
	}
	return SecurityRule{words[0], words[1], words[2], words[3]}, true
}

// aclValues are the columns of an ACL that say what it does.
type aclValues struct {
	Direction, Match, Action string
	Priority                 int
}

// Priorities of ACLs: what each group lets pass is above what each refuses, so that a port in several has what any of them lets pass.
const (
	denyPriority = 1000
	passPriority = 1001
)

// formatEnd returns how an expression names the port of the group in a direction, and side the column of the other side's addresses.
func (g SecurityGroup) formatEnd(direction string) (acl, port, side, ports string) {
	if direction == Egress {
		return "from-lport", "inport == @" + g.Name, "dst", "dst"
	}
	return "to-lport", "outport == @" + g.Name, "src", "dst"
}

// formatACL returns a rule as an ACL.
func (g SecurityGroup) formatACL(r SecurityRule) aclValues {
	direction, port, side, ports := g.formatEnd(r.Direction)
	p := securityProtocols[r.Protocol]
	match := []string{port, p.match}
	if first, last, _ := portRange(r.Ports); r.Ports != "" && first == last {
		match = append(match, fmt.Sprintf("%s.%s == %d", r.Protocol, ports, first))
	} else if r.Ports != "" {
		match = append(match, fmt.Sprintf("%s.%s >= %d && %s.%s <= %d", r.Protocol, ports, first, r.Protocol, ports, last))
	}
	if r.Remote != "" {
		match = append(match, g.formatRemote(r.Remote, side, p))
	}
	action := "allow-related"
	if p.stateless {
		action = "allow-stateless"
	}
	return aclValues{direction, strings.Join(match, " && "), action, passPriority}
}

// formatRemote returns what matches the other side.
func (g SecurityGroup) formatRemote(text, side string, p securityProtocol) string {
	if prefix, ok := prefixOf(text); ok {
		return fmt.Sprintf("ip%s.%s == %s", map[bool]string{true: "4", false: "6"}[prefix.Addr().Is4()], side, spellPrefix(prefix))
	}
	four, six := "$"+text+"_ip4", "$"+text+"_ip6" // what OVN keeps of a group's ports
	if _, own := g.AddressSets[text]; own {
		four, six = "$"+g.setName(text, true), "$"+g.setName(text, false)
	}
	var either []string
	if p.four {
		either = append(either, fmt.Sprintf("ip4.%s == %s", side, four))
	}
	if p.six {
		either = append(either, fmt.Sprintf("ip6.%s == %s", side, six))
	}
	return "(" + strings.Join(either, " || ") + ")"
}

// spellPrefix is a prefix as OVN has it: a single address is one.
func spellPrefix(p netip.Prefix) string {
	if p.IsSingleIP() {
		return p.Addr().String()
	}
	return p.String()
}

// setName is what the database calls the addresses of a family in an address set.
func (g SecurityGroup) setName(set string, four bool) string {
	return g.Name + "." + set + map[bool]string{true: ".v4", false: ".v6"}[four]
}

// listMembers returns the addresses of a family in an address set, as the database has them.
func (g SecurityGroup) listMembers(set string, four bool) []string {
	all := []string{}
	for _, text := range g.AddressSets[set] {
		if p, ok := prefixOf(text); ok && p.Addr().Is4() == four {
			all = append(all, spellPrefix(p))
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// SameMembers says whether two lists have the same addresses and prefixes.
func SameMembers(a, b []string) bool {
	one, other := SecurityGroup{AddressSets: map[string][]string{"": a}}, SecurityGroup{AddressSets: map[string][]string{"": b}}
	return slices.Equal(one.listMembers("", true), other.listMembers("", true)) && slices.Equal(one.listMembers("", false), other.listMembers("", false))
}

// listACLs returns all ACLs of the group, by what their rows are known by: its rules, what passes always, and what refuses the rest. ARP is not looked
// at; what guests of IPv6 ask their neighbours, and DHCP, pass without being followed.
func (g SecurityGroup) listACLs() map[string]aclValues {
	all := map[string]aclValues{}
	for _, r := range g.Rules {
		all[r.formatRule()] = g.formatACL(r)
	}
	for direction, dhcp := range map[string]string{
		Egress:  "((ip4 && udp.src == 68 && udp.dst == 67) || (ip6 && udp.src == 546 && udp.dst == 547))",
		Ingress: "((ip4 && udp.src == 67 && udp.dst == 68) || (ip6 && udp.src == 547 && udp.dst == 546))",
	} {
		to, port, _, _ := g.formatEnd(direction)
		all["deny "+direction] = aclValues{to, port + " && ip", "drop", denyPriority}
		all["dhcp "+direction] = aclValues{to, port + " && " + dhcp, "allow", passPriority}
		all["neighbours "+direction] = aclValues{to, port + " && (nd || nd_rs || nd_ra || mldv1 || mldv2)", "allow", passPriority}
	}
	return all
}
