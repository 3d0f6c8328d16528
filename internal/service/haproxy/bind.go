package haproxy

import (
	"slices"
	"strconv"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// Bind is where a frontend listens.
type Bind struct {
	// Address is an IPv4 or IPv6 address in canonical form, "*" for all IPv4 addresses or "::" for all.
	Address string `attr:"address"`
	Port    int64  `attr:"port"`
	// Transparent lets HAProxy listen on an address that the machine does not hold (yet), a VIP for one.
	Transparent bool `attr:"transparent"`
	// Options are the further words of the line: "ssl crt /etc/haproxy/site.pem".
	Options string `attr:"options,words"`
}

// SplitWords splits the words of Options into one text for each option: "ssl", "crt /etc/site.pem".
func (Bind) SplitWords(options string) []string { return groupOptions(bindFlags, options) }

// Canonical returns the bind as it is read back. An address that is not known yet stays empty.
func (b Bind) Canonical() Bind {
	if b.Address != "" {
		b.Address = CanonicalBindAddress(b.Address)
	}
	b.Options = OneLine(b.Options)
	return b
}

// Wildcard says whether the bind takes every address.
func (b Bind) Wildcard() bool { return b.Address == "*" || b.Address == "::" }

// Endpoint is the bind's address and port as HAProxy spells it: "10.0.0.250:6443", "[2001:db8::1]:443", "*:80".
func (b Bind) Endpoint() string { return joinEndpoint(b.Address, b.Port) }

func (b Bind) String() string {
	line := b.Endpoint()
	if b.Transparent {
		line += " transparent"
	}
	if b.Options != "" {
		line += " " + b.Options
	}
	return line
}

func parseBind(rest string) (Bind, bool) {
	words, _ := rawWords(rest)
	if len(words) == 0 {
		return Bind{}, false
	}
	address, port, ok := splitEndpoint(words[0])
	if !ok {
		return Bind{}, false
	}
	b := Bind{Address: CanonicalBindAddress(address), Port: port}
	if !isAddress(b.Address) && b.Address != "*" {
		return Bind{}, false
	}
	if i := slices.Index(words, "transparent"); i > 0 {
		b.Transparent = true
		words = slices.Delete(words, i, i+1)
	}
	b.Options = strings.Join(words[1:], " ")
	return b, true
}

// CanonicalBindAddress spells an address as Bind has it; what is no address stays as it is.
func CanonicalBindAddress(address string) string {
	if address == "" || address == "0.0.0.0" {
		return "*"
	}
	return CanonicalAddress(address)
}

// CanonicalAddress spells an IP address canonically; a host name stays as it is.
func CanonicalAddress(address string) string {
	if a, err := service.ParseAddress(address); err == nil {
		return a.String()
	}
	return address
}

func isAddress(text string) bool { _, err := service.ParseAddress(text); return err == nil }

// joinEndpoint joins an address and a port in HAProxy's way.
func joinEndpoint(address string, port int64) string {
	if strings.Contains(address, ":") {
		address = "[" + address + "]"
	}
	return address + ":" + strconv.FormatInt(port, 10)
}

// splitEndpoint is the inverse of joinEndpoint; it takes an IPv6 address without brackets too.
func splitEndpoint(word string) (address string, port int64, ok bool) {
	i := strings.LastIndexByte(word, ':')
	if i < 0 || strings.ContainsAny(word, `@,/\"'$`) {
		return "", 0, false
	}
	port, err := strconv.ParseInt(word[i+1:], 10, 64)
	if err != nil || port < 1 || port > 65535 || word[i+1] == '+' {
		return "", 0, false
	}
	address = word[:i]
	if strings.HasPrefix(address, "[") && strings.HasSuffix(address, "]") {
		address = address[1 : len(address)-1]
	}
	return address, port, true
}

// listensAt says whether a bind line, what follows the keyword, has an address and a port: a single one, in a list, or in a
// range of ports. What a variable stands for is known to HAProxy only.
func listensAt(line string, b Bind) bool {
	words, _ := rawWords(line)
	if len(words) == 0 {
		return false
	}
	for where := range strings.SplitSeq(words[0], ",") {
		where = strings.TrimPrefix(strings.TrimPrefix(where, "ipv4@"), "ipv6@")
		i := strings.LastIndexByte(where, ':')
		if i < 0 {
			continue
		}
		first, last, isRange := strings.Cut(where[i+1:], "-")
		if !isRange {
			last = first
		}
		low, errLow := strconv.ParseInt(first, 10, 64)
		high, errHigh := strconv.ParseInt(last, 10, 64)
		address := CanonicalBindAddress(strings.Trim(where[:i], "[]"))
		if errLow == nil && errHigh == nil && address == b.Address && low <= b.Port && b.Port <= high {
			return true
		}
	}
	return false
}
