package bind

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// aclName is the name of an acl statement or one of BIND's own: any, none, localhost, localnets.
var aclName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]*$`)

// CanonicalMatch is an element of an address match list in canonical form: an address, a prefix, "any", "none",
// "localhost", "localnets", the name of an acl or "key NAME", each with "!" before it where it is negated.
func CanonicalMatch(element string) (string, error) {
	text := strings.TrimSpace(element)
	not := ""
	if rest, negated := strings.CutPrefix(text, "!"); negated {
		not, text = "!", strings.TrimSpace(rest)
	}
	if key, ok := strings.CutPrefix(text, "key "); ok {
		key = strings.Trim(strings.TrimSpace(key), `"`)
		if !aclName.MatchString(strings.TrimSuffix(key, ".")) {
			return "", fmt.Errorf("%q names no key", element)
		}
		return not + "key " + key, nil
	}
	if a, err := service.ParseAddress(text); err == nil {
		return not + a.String(), nil
	}
	if strings.Contains(text, "/") {
		p, err := ParseCIDR(text)
		if err != nil {
			return "", err
		}
		if p.IsSingleIP() {
			return not + p.Addr().String(), nil
		}
		return not + p.String(), nil
	}
	if !aclName.MatchString(text) {
		return "", fmt.Errorf("%q is no element of an address match list; write an address, a prefix such as \"10.0.0.0/8\", \"any\", \"none\", \"localhost\", \"localnets\", \"key NAME\" or the name of an acl, with \"!\" before it for the opposite", element)
	}
	return not + text, nil
}

// canonicalMatches converts a list; nil stays nil and an empty list is "none". An element that CanonicalMatch
// refuses, from a hand edit, stays as it is.
func canonicalMatches(list []string) []string {
	if list == nil {
		return nil
	}
	if len(list) == 0 {
		return []string{"none"}
	}
	canonical := make([]string, len(list))
	for i, e := range list {
		c, err := CanonicalMatch(e)
		if err != nil {
			c = e
		}
		canonical[i] = c
	}
	return canonical
}

// SameMatches says whether two address match lists mean the same. Their order matters.
func SameMatches(a, b []string) bool {
	return (a == nil) == (b == nil) && slices.Equal(canonicalMatches(a), canonicalMatches(b))
}

func checkMatchList(attribute string, list []string) []service.Problem {
	var problems []service.Problem
	for i, e := range list {
		if e == "" {
			continue // unknown until apply
		}
		if _, err := CanonicalMatch(e); err != nil {
			problems = append(problems, service.Problemf([]any{attribute, i}, "Invalid address match", "%v", err))
		}
	}
	return problems
}

// matchesAnyone says whether a list lets strangers in: it is not given, or has "any" before "none".
func matchesAnyone(list []string) bool {
	for _, e := range canonicalMatches(list) {
		switch e {
		case "any", "0.0.0.0/0", "::/0":
			return true
		case "none", "!any":
			return false
		}
	}
	return len(list) == 0
}

// formatBlock writes a list of elements as a block: "{ a; b; }".
func formatBlock(elements []string) string {
	if len(elements) == 0 {
		return "{ }"
	}
	return "{ " + strings.Join(elements, "; ") + "; }"
}

// CanonicalServer is the canonical form of a server to forward to: an address, with ":port" where it is not 53.
func CanonicalServer(text string) (string, error) {
	if a, err := service.ParseAddress(text); err == nil {
		return a.String(), nil
	}
	ap, err := netip.ParseAddrPort(text)
	if err != nil || ap.Port() == 0 || ap.Addr().Zone() != "" {
		return "", fmt.Errorf("%q is no address; write it like \"10.0.0.1\", \"10.0.0.1:5353\" or \"[fd00::1]:5353\"", text)
	}
	if ap.Port() == 53 {
		return ap.Addr().String(), nil
	}
	return ap.String(), nil
}

func canonicalServers(list []string) []string {
	var canonical []string
	for _, s := range list {
		c, err := CanonicalServer(s)
		if err != nil {
			c = s
		}
		canonical = append(canonical, c)
	}
	if list != nil && canonical == nil {
		canonical = []string{}
	}
	return canonical
}

// SameServers says whether two lists of servers mean the same.
func SameServers(a, b []string) bool {
	return (a == nil) == (b == nil) && slices.Equal(canonicalServers(a), canonicalServers(b))
}

func checkForwarders(at []any, list []string) []service.Problem {
	var problems []service.Problem
	for i, s := range list {
		if s == "" {
			continue // unknown until apply
		}
		if _, err := CanonicalServer(s); err != nil {
			problems = append(problems, service.Problemf(append(slices.Clone(at), i), "Invalid server", "%v", err))
		}
	}
	return problems
}

// forwarderElements writes servers as named.conf has them, with a port behind the address.
func forwarderElements(list []string) []string {
	var elements []string
	for _, s := range canonicalServers(list) {
		if ap, err := netip.ParseAddrPort(s); err == nil {
			s = fmt.Sprintf("%s port %d", ap.Addr(), ap.Port())
		}
		elements = append(elements, s)
	}
	return elements
}

// forwarderList is the inverse of forwarderElements.
func forwarderList(elements []string) []string {
	list := []string{}
	for _, e := range elements {
		words := strings.Fields(e)
		if len(words) == 3 && words[1] == "port" {
			if a, err := netip.ParseAddr(words[0]); err == nil {
				if port, err := strconv.ParseUint(words[2], 10, 16); err == nil {
					e = netip.AddrPortFrom(a, uint16(port)).String()
				}
			}
		}
		list = append(list, e)
	}
	return canonicalServers(list)
}
