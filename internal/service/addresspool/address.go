package addresspool

import (
	"errors"
	"fmt"
	"iter"
	"net/netip"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// Address is one that is drawn, or to be drawn.
type Address struct {
	Pool, Key string
	// IP is the zero address where any will do.
	IP netip.Addr
}

// Validate finds what cannot be a key.
func (a Address) Validate() []service.Problem {
	if keyName.MatchString(a.Key) {
		return nil
	}
	return []service.Problem{service.Problemf([]any{"key"}, "Invalid key", "write 1 to 127 letters, digits and any of . _ - : / behind the first, not %q", a.Key)}
}

// drawAddress gives a key its address. A key that had one before gets the same again where it is free; another gets the lowest that no
// key had yet, and only then one that a key left, so that an address that names and firewalls elsewhere still know goes to
// somebody else as late as it can. None that the pool chooses is one that somebody answers for.
func (l *ledger) drawAddress(want Address, asked Asked) (netip.Addr, error) {
	if had, ok := l.Drawn[want.Key]; ok && (!want.IP.IsValid() || want.IP == had.IP) {
		return had.IP, nil
	}
	if want.IP.IsValid() {
		holder, drawn := l.holderOf(want.IP)
		switch {
		case drawn && holder != want.Key:
			return want.IP, fmt.Errorf("%s is drawn for key %q by %s: choose another address, or leave ip out", want.IP, holder, l.Drawn[holder].By)
		case !l.pool.toStock().hasAddress(want.IP):
			return want.IP, fmt.Errorf("%s is not one that the pool gives out: its ranges are %s, of which %s is reserved", want.IP, joinTexts(l.Ranges), joinTexts(l.Reserved))
		}
		return want.IP, nil
	}
	for a := range l.candidatesFor(want.Key) {
		who, known := asked[a]
		if !known {
			return a, errNotAsked
		}
		if who == "" {
			return a, nil
		}
	}
	return netip.Addr{}, l.exhaustedError(asked)
}

// candidatesFor yields what a key may get, what it had before first. Another's that gave it back comes last.
func (l *ledger) candidatesFor(key string) iter.Seq[netip.Addr] {
	return func(yield func(netip.Addr) bool) {
		taken := map[netip.Addr]bool{}
		for _, d := range l.Drawn {
			taken[d.IP] = true
		}
		stock := l.pool.toStock()
		if had, ok := l.Released[key]; ok && !taken[had] && stock.hasAddress(had) {
			if taken[had] = true; !yield(had) {
				return
			}
		}
		released := map[netip.Addr]bool{}
		for _, a := range l.Released {
			released[a] = true
		}
		var left []netip.Addr
		for a := range stock.allAddresses() {
			switch {
			case taken[a]:
			case released[a]:
				left = append(left, a)
			case !yield(a):
				return
			}
		}
		for _, a := range left {
			if !yield(a) {
				return
			}
		}
	}
}

// holderOf is the key that an address is drawn for.
func (l *ledger) holderOf(a netip.Addr) (key string, drawn bool) {
	for key, d := range l.Drawn {
		if d.IP == a {
			return key, true
		}
	}
	return "", false
}

// exhaustedError says who has how many of a pool that has none left.
func (l *ledger) exhaustedError(asked Asked) error {
	if words := asked.String(); words != "" {
		return fmt.Errorf("pool %q has no address left that is free: of %s in %s those that are not drawn are in use, %s%s: widen its ranges, or free one of these",
			l.pool.Name, l.pool.toStock().countAddresses(), joinTexts(l.Ranges), words, prefixText("; drawn are ", l.countHolders()))
	}
	return fmt.Errorf("pool %q has no address left: all %s of %s are drawn, %s: widen its ranges, or destroy an address that nobody needs",
		l.pool.Name, l.pool.toStock().countAddresses(), joinTexts(l.Ranges), l.countHolders())
}

func prefixText(prefix, text string) string {
	if text == "" {
		return ""
	}
	return prefix + text
}

func joinTexts(texts []string) string {
	if len(texts) == 0 {
		return "nothing"
	}
	return strings.Join(texts, ", ")
}

// errNoPool is that of an address whose pool is not on the machine.
var errNoPool = errors.New("the pool does not exist")
