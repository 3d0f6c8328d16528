package addresspool

import (
	"iter"
	"math/big"
	"net/netip"

	"go4.org/netipx"
)

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
