package ovn

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// What is wrong with an option of DHCP: OVN answers no guest of a network at all of which one option is not as it takes it.

// checkText refuses what would end the quotes that a text gets.
func checkText(text string) error {
	if strings.ContainsAny(text, `"\`) {
		return fmt.Errorf("write a text without quotes and backslashes, not %s", text)
	}
	return nil
}

// checkNumber returns what refuses all but numbers of so many bits.
func checkNumber(bits int) func(string) error {
	return func(text string) error {
		if _, err := strconv.ParseUint(text, 10, bits); err != nil {
			return fmt.Errorf("write a number of 0 to %d, not %q", uint64(1)<<bits-1, text)
		}
		return nil
	}
}

// splitSet returns the members of a set, as OVN has it: in braces, with commas between. One that is alone needs no braces.
func splitSet(text string) (all []string) {
	inner, is := strings.CutPrefix(strings.TrimSpace(text), "{")
	if is {
		inner, is = strings.CutSuffix(inner, "}")
	}
	if !is {
		return []string{text}
	}
	for member := range strings.SplitSeq(inner, ",") {
		all = append(all, strings.TrimSpace(member))
	}
	return all
}

func checkAddresses(text string) error {
	for _, member := range splitSet(text) {
		if a, err := netip.ParseAddr(member); err != nil || !a.Is4() {
			return fmt.Errorf("write an address of IPv4, or several as in \"{10.0.0.2, 10.0.0.3}\", not %q", text)
		}
	}
	return nil
}

// checkRoutes refuses what is no networks, each with the address behind it that leads there.
func checkRoutes(text string) error {
	members := splitSet(text)
	for at, member := range members {
		p, err := netip.ParsePrefix(member)
		isNetwork := err == nil && p.Addr().Is4()
		a, err := netip.ParseAddr(member)
		if isAddress := err == nil && a.Is4(); len(members)%2 != 0 || at%2 == 0 && !isNetwork && !isAddress || at%2 == 1 && !isAddress {
			return fmt.Errorf("write networks and what leads there, as in \"{10.1.0.0/16, 10.0.0.2, 0.0.0.0/0, 10.0.0.1}\", not %q", text)
		}
	}
	return nil
}

// checkServer refuses what is neither an address of IPv4 nor a text in quotes.
func checkServer(text string) error {
	name, quoted := strings.CutPrefix(text, `"`)
	if quoted {
		name, quoted = strings.CutSuffix(name, `"`)
	}
	if a, err := netip.ParseAddr(text); err == nil && a.Is4() || quoted && checkText(name) == nil {
		return nil
	}
	return fmt.Errorf("write an address of IPv4, or a name in quotes of its own, not %q", text)
}
