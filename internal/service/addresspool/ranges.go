package addresspool

import (
	"fmt"
	"net/netip"
	"strings"

	"go4.org/netipx"
)

// ParseRange reads a run of addresses: "10.0.0.5-10.0.0.9", both ends included, a subnet "10.0.0.0/28", or one address.
func ParseRange(text string) (netipx.IPRange, error) {
	from, to, isRange := strings.Cut(text, "-")
	first, err := netip.ParseAddr(strings.TrimSpace(from))
	last := first
	switch {
	case isRange && err == nil:
		last, err = netip.ParseAddr(strings.TrimSpace(to))
	case !isRange && strings.Contains(text, "/"):
		var prefix netip.Prefix
		prefix, err = netip.ParsePrefix(text)
		if err == nil && prefix != prefix.Masked() {
			return netipx.IPRange{}, fmt.Errorf("%q is an address in a subnet: write the subnet %s, or the address alone", text, prefix.Masked())
		}
		run := netipx.RangeOfPrefix(prefix)
		first, last = run.From(), run.To()
	}
	if err != nil || first.Zone() != "" || last.Zone() != "" || first.Is4In6() || last.Is4In6() {
		return netipx.IPRange{}, fmt.Errorf("write \"10.0.0.10-10.0.0.19\", a subnet such as \"10.0.0.0/28\", or one address, not %q", text)
	}
	run := netipx.IPRangeFrom(first, last)
	if !run.IsValid() {
		return netipx.IPRange{}, fmt.Errorf("%q ends before it begins, or mixes IPv4 and IPv6", text)
	}
	return run, nil
}

// FormatRange is the canonical spelling of a run of addresses: one address, a subnet where it is one, or "first-last".
func FormatRange(run netipx.IPRange) string {
	if run.From() == run.To() {
		return run.From().String()
	}
	if prefix, ok := run.Prefix(); ok {
		return prefix.String()
	}
	return run.String()
}

// FormatRanges spells several runs.
func FormatRanges(runs []netipx.IPRange) []string {
	all := []string{}
	for _, run := range runs {
		all = append(all, FormatRange(run))
	}
	return all
}

func parseRanges(texts []string) ([]netipx.IPRange, error) {
	var all []netipx.IPRange
	for _, text := range texts {
		run, err := ParseRange(text)
		if err != nil {
			return nil, err
		}
		all = append(all, run)
	}
	return all, nil
}
