package addresspool

import (
	"fmt"
	"iter"
	"math/big"
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

// stock is what a pool may give out, drawn or not. It costs the same whatever the pool's size.
type stock struct {
	set        *netipx.IPSet
	avoidBuggy bool
}

func (s stock) hasAddress(a netip.Addr) bool { return s.set.Contains(a) && !s.avoidsAddress(a) }

func (s stock) avoidsAddress(a netip.Addr) bool {
	if !s.avoidBuggy || !a.Is4() {
		return false
	}
	last := a.As4()[3]
	return last == 0 || last == 255
}

// allAddresses yields the addresses in order. No more than two in a row are avoided.
func (s stock) allAddresses() iter.Seq[netip.Addr] {
	return func(yield func(netip.Addr) bool) {
		for _, run := range s.set.Ranges() {
			for a := run.From(); a.IsValid() && !run.To().Less(a); a = a.Next() {
				if !s.avoidsAddress(a) && !yield(a) {
					return
				}
			}
		}
	}
}

// countAddresses is how many addresses there are.
func (s stock) countAddresses() *big.Int {
	sum := new(big.Int)
	for _, run := range s.set.Ranges() {
		from, to := toNumber(run.From()), toNumber(run.To())
		sum.Add(sum, new(big.Int).Sub(to, from)).Add(sum, big.NewInt(1))
		if s.avoidBuggy && run.From().Is4() {
			sum.Sub(sum, big.NewInt(countBuggy(to.Int64())-countBuggy(from.Int64()-1)))
		}
	}
	return sum
}

func toNumber(a netip.Addr) *big.Int { return new(big.Int).SetBytes(a.AsSlice()) }

// countBuggy is how many of the IPv4 addresses from 0.0.0.0 to one, by its number, end in .0 or .255; -1 is before the first.
func countBuggy(last int64) int64 {
	if last < 0 {
		return 0
	}
	return last/256 + 1 + (last+1)/256
}
