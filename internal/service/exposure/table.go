package exposure

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
)

// table is the provider's own in nftables: nobody else's rules are in it.
const table = "inet virtcluster"

// priority is that of the chains that translate: just before those of others, Docker's and Kubernetes' for example, whichever were made
// first. What others have is not taken all the same: see Survey.Occupied.
const priority = -101

// ownMark tells the table, and a chain of iptables, from a person's of the same name; exposure.sh has it too.
const ownMark = "made-by-terraform-provider-virtcluster"

// renderTable returns the whole table as a file for `nft -f`, which replaces the table in one step. Rules are in the order of
// the exposures' names, and of the ports' names in each. The chain "routed" counts the connections that the machine forwards and that are
// of no exposure: exposure.sh asks it before it switches forwarding off.
func renderTable(all []Exposure) string {
	var guard, translate, local, source, routed []string
	var floating []netip.Addr
	for _, e := range all {
		if e.Kind == Floating {
			floating = append(floating, e.Address)
		}
	}
	for _, e := range all {
		guard = append(guard, e.guardRules(floating)...)
		rules := e.translationRules(floating)
		translate = append(translate, rules...)
		local = append(local, rules...)
		source = append(source, e.sourceRules()...)
		if e.Kind == Floating && len(e.Targets) > 0 {
			routed = append(routed, fmt.Sprintf(`oifname "%s" %s saddr %s return`, e.Interface, e.addressFamily(), e.Targets[0]))
		}
	}
	routed = append(append([]string{"ct status dnat return"}, routed...), "ct state new meta nfproto ipv4 counter", "ct state new meta nfproto ipv6 counter")
	var b strings.Builder
	b.WriteString("table " + table + "\ndelete table " + table + "\ntable " + table + " {\n\tchain " + ownMark + " {\n\t}\n")
	for _, chain := range []struct {
		name, hook string
		rules      []string
	}{
		{"guard", "type filter hook prerouting priority mangle", guard},
		{"prerouting", fmt.Sprintf("type nat hook prerouting priority %d", priority), translate},
		{"output", fmt.Sprintf("type nat hook output priority %d", priority), local},
		{"postrouting", "type nat hook postrouting priority srcnat - 10", source},
		{"routed", "type filter hook forward priority filter", routed},
	} {
		fmt.Fprintf(&b, "\tchain %s {\n\t\t%s; policy accept;\n", chain.name, chain.hook)
		for _, rule := range chain.rules {
			fmt.Fprintf(&b, "\t\t%s\n", rule)
		}
		b.WriteString("\t}\n")
	}
	b.WriteString("}\n")
	return b.String()
}

// addressFamily is nftables' word for that of an exposure's addresses.
func (e Exposure) addressFamily() string {
	if e.Address.Is4() || !e.Address.IsValid() && len(e.Targets) > 0 && e.Targets[0].Is4() {
		return "ip"
	}
	return "ip6"
}

// matchReached matches packets to what is exposed. The ports of all addresses of the machine are not those of its floating ones, of which
// each is another machine's.
func (e Exposure) matchReached(floating []netip.Addr) string {
	if e.Kind != NodePort {
		return fmt.Sprintf("%s daddr %s", e.addressFamily(), e.Address)
	}
	others := []string{"127.0.0.0/8"}
	if e.addressFamily() == "ip6" {
		others = []string{"::1"}
	}
	for _, a := range slices.SortedFunc(slices.Values(floating), netip.Addr.Compare) {
		if a.Is4() == (e.addressFamily() == "ip") {
			others = append(others, a.String())
		}
	}
	if len(others) == 1 {
		return fmt.Sprintf("fib daddr type local %s daddr != %s", e.addressFamily(), others[0])
	}
	return fmt.Sprintf("fib daddr type local %s daddr != { %s }", e.addressFamily(), strings.Join(others, ", "))
}

// guardRules refuse new connections of those who may not connect, and to ports of a floating address that it does not have. The
// machine itself comes by its loopback interface.
func (e Exposure) guardRules(floating []netip.Addr) []string {
	outsider := ""
	if len(e.SourceRanges) > 0 {
		var ranges []string
		for _, p := range e.SourceRanges {
			ranges = append(ranges, p.String())
		}
		slices.Sort(ranges)
		outsider = fmt.Sprintf("%s saddr != { %s } ", e.addressFamily(), strings.Join(ranges, ", "))
	}
	refuse := func(match string) string {
		return fmt.Sprintf(`iifname != "lo" ct state new %s %sdrop comment "%s"`, e.matchReached(floating), match, e.Name)
	}
	var rules []string
	switch {
	case outsider != "" && len(e.Ports) == 0:
		rules = append(rules, refuse(outsider))
	case outsider != "":
		for _, name := range slices.Sorted(maps.Keys(e.Ports)) {
			p := e.Ports[name]
			rules = append(rules, refuse(fmt.Sprintf("%s dport %d %s", p.Protocol, p.Port, outsider)))
		}
	}
	if e.Kind == Floating && len(e.Ports) > 0 {
		for _, protocol := range []string{TCP, UDP} {
			var open []string
			for _, p := range e.Ports {
				if p.Protocol == protocol {
					open = append(open, fmt.Sprint(p.Port))
				}
			}
			slices.Sort(open)
			match := "meta l4proto " + protocol + " "
			if len(open) > 0 {
				match = fmt.Sprintf("%s dport != { %s } ", protocol, strings.Join(open, ", "))
			}
			rules = append(rules, refuse(match))
		}
	}
	return rules
}

// translationRules lead what is exposed to the targets, new connections in turns.
func (e Exposure) translationRules(floating []netip.Addr) []string {
	if len(e.Targets) == 0 {
		return nil
	}
	if e.Kind == Floating && len(e.Ports) == 0 {
		return []string{fmt.Sprintf(`%s counter dnat %s to %s comment "%s"`, e.matchReached(floating), e.addressFamily(), e.Targets[0], e.Name)}
	}
	var rules []string
	ports := e.Translated()
	for _, name := range slices.Sorted(maps.Keys(ports)) {
		p := ports[name]
		rules = append(rules, fmt.Sprintf(`%s %s dport %d counter dnat %s to %s comment "%s/%s"`, e.matchReached(floating), p.Protocol, p.Port, e.addressFamily(), e.portDestination(p), e.Name, name))
	}
	return rules
}

// portDestination is where a port leads: an address and a port, or a map of them for several targets.
func (e Exposure) portDestination(p Port) string {
	if len(e.Targets) == 1 {
		return netip.AddrPortFrom(e.Targets[0], p.TargetPort).String()
	}
	turns := make([]string, 0, len(e.Targets))
	for i, t := range e.sortedTargets() {
		turns = append(turns, fmt.Sprintf("%d : %s . %d", i, t, p.TargetPort))
	}
	return fmt.Sprintf("numgen inc mod %d map { %s }", len(e.Targets), strings.Join(turns, ", "))
}

func (e Exposure) sortedTargets() []netip.Addr {
	return slices.SortedFunc(slices.Values(e.Targets), netip.Addr.Compare)
}

// sourceRules have answers come back this way: to all where the exposure is masqueraded, and in any case to the machine itself, and to those
// beside the targets, who would otherwise be answered directly from an address that they did not ask. A floating address is what its
// target's own connections come from.
func (e Exposure) sourceRules() []string {
	var rules []string
	if e.hasRules() {
		for _, t := range e.sortedTargets() {
			if e.Address.IsValid() {
				rules = append(rules, fmt.Sprintf(`ct status dnat %s saddr %s %s daddr %s masquerade comment "%s"`, e.addressFamily(), e.Address, e.addressFamily(), t, e.Name))
			}
			for _, inside := range e.Insides {
				if inside.Contains(t) {
					rules = append(rules, fmt.Sprintf(`ct status dnat %s saddr %s %s daddr %s masquerade comment "%s"`, e.addressFamily(), inside.Masked(), e.addressFamily(), t, e.Name))
				}
			}
			if e.Masquerade {
				rules = append(rules, e.masqueradeRules(t)...)
			}
		}
	}
	if e.Kind == Floating && len(e.Targets) > 0 {
		rules = append(rules, fmt.Sprintf(`oifname "%s" %s saddr %s counter snat %s to %s comment "%s"`, e.Interface, e.addressFamily(), e.Targets[0], e.addressFamily(), e.Address, e.Name))
	}
	return rules
}

// masqueradeRules have a target see the machine in what came to the exposure, and in nothing else that is led to the target.
func (e Exposure) masqueradeRules(target netip.Addr) []string {
	came := "ct status dnat"
	if e.Address.IsValid() {
		came += fmt.Sprintf(" ct original %s daddr %s", e.addressFamily(), e.Address)
	}
	if len(e.Ports) == 0 {
		return []string{fmt.Sprintf(`%s %s daddr %s masquerade comment "%s"`, came, e.addressFamily(), target, e.Name)}
	}
	var rules []string
	ports := e.Translated()
	for _, name := range slices.Sorted(maps.Keys(ports)) {
		p := ports[name]
		rules = append(rules, fmt.Sprintf(`%s %s daddr %s %s dport %d ct original proto-dst %d masquerade comment "%s/%s"`, came, e.addressFamily(), target, p.Protocol, p.TargetPort, p.Port, e.Name, name))
	}
	return rules
}

// renderAccepted returns the lines of iptables-restore, one for IPv4 ("4 …") or IPv6 ("6 …") each, that let what is translated
// through the rules that others have for what a machine forwards: libvirt's refuse whatever comes to a network with NAT.
func renderAccepted(all []Exposure) string {
	lines := map[string]bool{}
	for _, e := range all {
		version := map[string]string{"ip": "4", "ip6": "6"}[e.addressFamily()]
		if !e.hasRules() {
			continue
		}
		for _, t := range e.Targets {
			lines[fmt.Sprintf("%s -A VIRTCLUSTER -d %s -m conntrack --ctstate DNAT -j ACCEPT\n", version, t)] = true
			lines[fmt.Sprintf("%s -A VIRTCLUSTER -s %s -m conntrack --ctstate DNAT -j ACCEPT\n", version, t)] = true
			if e.Kind == Floating {
				lines[fmt.Sprintf("%s -A VIRTCLUSTER -s %s -o %s -j ACCEPT\n", version, t, e.Interface)] = true
				lines[fmt.Sprintf("%s -A VIRTCLUSTER -d %s -m conntrack --ctstate SNAT -j ACCEPT\n", version, t)] = true // the answers to these
			}
		}
	}
	return strings.Join(slices.Sorted(maps.Keys(lines)), "")
}

// renderAddresses returns a line "DEVICE ADDRESS/LENGTH" for each address that the machine is to have.
func renderAddresses(all []Exposure) string {
	lines := map[string]bool{}
	for _, e := range all {
		if e.ConfigureAddress && e.Address.IsValid() {
			lines[fmt.Sprintf("%s %s\n", e.Interface, netip.PrefixFrom(e.Address, e.Address.BitLen()))] = true
		}
	}
	return strings.Join(slices.Sorted(maps.Keys(lines)), "")
}
