package addresspool

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"path"
	"slices"
	"strings"

	"go4.org/netipx"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// directory holds a ledger for each pool.
const directory = "/var/lib/virtcluster/addresspool/pools"

// Place is where a pool's ledger is, for messages.
func Place(pool string) string { return path.Join(directory, pool+".json") }

// ListNames lists the pools of a machine, whosever they are, in order.
func ListNames(t transaction.Tree) []string { return t.ListNames(directory, ".json") }

// ledger is a pool with what is drawn from it, as its file has it.
type ledger struct {
	Owner         string   `json:"owner"`
	Ranges        []string `json:"ranges"`
	Reserved      []string `json:"reserved,omitempty"`
	AvoidBuggyIPs bool     `json:"avoid_buggy_ips,omitempty"`
	// Drawn is what has a holder, by key, and Released what a key had when it was given back.
	Drawn    map[string]drawn      `json:"drawn,omitempty"`
	Released map[string]netip.Addr `json:"released,omitempty"`
	// Skipped is what was not given out when it came to that, as somebody has it, with who that is.
	Skipped map[netip.Addr]string `json:"skipped,omitempty"`

	pool Pool
}

// drawn is an address with its holder: the resource's mark, and the run it was last written by, for people.
type drawn struct {
	IP    netip.Addr `json:"ip"`
	Owner string     `json:"owner"`
	By    string     `json:"by"`
}

// readLedger parses a pool's ledger; transaction.ErrAbsent where there is none.
func readLedger(t transaction.Tree, name string) (*ledger, error) {
	f, ok := t[Place(name)]
	if !ok {
		return nil, fmt.Errorf("address pool %q: %w", name, transaction.ErrAbsent)
	}
	l := &ledger{}
	err := json.Unmarshal(f.Content, l)
	l.pool = Pool{Name: name, AvoidBuggyIPs: l.AvoidBuggyIPs}
	if err == nil {
		l.pool.Ranges, err = parseRanges(l.Ranges)
	}
	if err == nil {
		l.pool.Reserved, err = parseRanges(l.Reserved)
	}
	if err != nil {
		return nil, fmt.Errorf("%s is damaged: %w", Place(name), err)
	}
	return l, nil
}

// writeTo puts the ledger into a tree.
func (l *ledger) writeTo(t transaction.Tree) error {
	l.Ranges, l.Reserved, l.AvoidBuggyIPs = FormatRanges(l.pool.Ranges), FormatRanges(l.pool.Reserved), l.pool.AvoidBuggyIPs
	text, err := json.MarshalIndent(l, "", "  ")
	if err != nil {
		return fmt.Errorf("render address pool %q: %w", l.pool.Name, err)
	}
	t.Put(Place(l.pool.Name), append(text, '\n'), 0o644, "", "")
	return nil
}

// PoolMark tells whose a pool is; false where there is none of the name.
func PoolMark(t transaction.Tree, name string) (owner.Mark, bool) {
	l, err := readLedger(t, name)
	if err != nil {
		_, there := t[Place(name)]
		return owner.Mark{}, there
	}
	return owner.Parse(l.Owner), true
}

// FindPool reads a pool.
func FindPool(t transaction.Tree, name string) (Pool, error) {
	l, err := readLedger(t, name)
	if err != nil {
		return Pool{}, err
	}
	return l.pool, nil
}

// SetPool adds or changes a pool; what is drawn from it stays, and a change that leaves a drawn address out is refused.
func SetPool(t transaction.Tree, want Pool, mark owner.Mark) error {
	l, err := readLedger(t, want.Name)
	if _, there := t[Place(want.Name)]; err != nil && there {
		return err
	}
	if l == nil {
		l = &ledger{}
	}
	if left := l.leftOut(want); len(left) > 0 {
		return service.At(left[0].Path, errors.New(left[0].Detail))
	}
	if shared := Shared(t, want, func(owner.Mark) bool { return true }); len(shared) > 0 {
		return errors.New(shared[0].Words)
	}
	l.pool, l.Owner = want, mark.String()
	return l.writeTo(t)
}

// LeftOut says, at the attributes that do so, what a pool as it is wanted leaves out of what is drawn from it, with the holders.
func LeftOut(t transaction.Tree, want Pool) []service.Problem {
	l, err := readLedger(t, want.Name)
	if err != nil {
		return nil // nothing is drawn, or the change says that the ledger is damaged
	}
	return l.leftOut(want)
}

func (l *ledger) leftOut(want Pool) []service.Problem {
	stock, words := want.toStock(), map[string][]string{}
	for _, key := range slices.Sorted(maps.Keys(l.Drawn)) {
		d := l.Drawn[key]
		if stock.hasAddress(d.IP) {
			continue
		}
		at := "ranges"
		switch contains := func(run netipx.IPRange) bool { return run.Contains(d.IP) }; {
		case slices.ContainsFunc(want.Reserved, contains):
			at = "reserved"
		case slices.ContainsFunc(want.Ranges, contains):
			at = "avoid_buggy_ips"
		}
		words[at] = append(words[at], fmt.Sprintf("%s is drawn for key %q by %s", d.IP, key, d.By))
	}
	var problems []service.Problem
	for _, at := range slices.Sorted(maps.Keys(words)) {
		all := words[at]
		if len(all) > shownKeys {
			all = append(all[:shownKeys], fmt.Sprintf("and %d more are drawn", len(all)-shownKeys))
		}
		problems = append(problems, service.Problemf([]any{at}, "Pool leaves out what is drawn", "%s: keep these in what the pool gives out, or have what holds them destroyed in an apply before", strings.Join(all, "; ")))
	}
	return problems
}

// Sharing is a range of a pool of which another pool of the machine has addresses too: Range is its number, and Words say so.
type Sharing struct {
	Range int
	Words string
}

// Shared lists what a pool has in common with the other pools of a machine, of those whose owners are asked about.
func Shared(t transaction.Tree, want Pool, asked func(owner.Mark) bool) []Sharing {
	var all []Sharing
	for _, name := range ListNames(t) {
		other, err := readLedger(t, name)
		if name == want.Name || err != nil || !asked(owner.Parse(other.Owner)) { // a damaged one is refused when it is used itself
			continue
		}
		for i, run := range want.Ranges {
			for _, theirs := range other.pool.Ranges {
				if run.Overlaps(theirs) {
					all = append(all, Sharing{i, SharingWords(FormatRange(run), FormatRange(theirs), fmt.Sprintf("pool %q (%s)", name, other.Owner))})
				}
			}
		}
	}
	return all
}

// SharingWords say that a range of a pool overlaps one of another's.
func SharingWords(run, theirs, whose string) string {
	return fmt.Sprintf("%s overlaps %s of %s, so one address could be drawn from both: choose other ranges, or draw from that pool", run, theirs, whose)
}

// DropPool removes a pool from which nothing is drawn.
func DropPool(t transaction.Tree, name string) error {
	l, err := readLedger(t, name)
	if _, there := t[Place(name)]; !there {
		return nil
	}
	if err == nil && len(l.Drawn) > 0 {
		return fmt.Errorf("addresses of it are drawn, %s: destroy these first", l.countHolders())
	}
	if err != nil {
		return err
	}
	delete(t, Place(name))
	return nil
}

// countHolders counts what each run has drawn, and names the keys: `2 by workspace "default" in /srv/okd on ci-1 (api, ingress)`.
func (l *ledger) countHolders() string {
	keys := map[string][]string{}
	for _, key := range slices.Sorted(maps.Keys(l.Drawn)) {
		by := l.Drawn[key].By
		keys[by] = append(keys[by], key)
	}
	var all []string
	for _, by := range slices.Sorted(maps.Keys(keys)) {
		shown := keys[by]
		if len(shown) > shownKeys {
			shown = append(slices.Clone(shown[:shownKeys]), "…")
		}
		all = append(all, fmt.Sprintf("%d by %s (%s)", len(keys[by]), by, strings.Join(shown, ", ")))
	}
	return strings.Join(all, ", ")
}

// shownKeys bounds how many keys of one run a message names.
const shownKeys = 5

// AddressMark tells whose a key's address is; false where none is drawn.
func AddressMark(t transaction.Tree, pool, key string) (owner.Mark, bool) {
	l, err := readLedger(t, pool)
	if err != nil {
		return owner.Mark{}, false
	}
	d, there := l.Drawn[key]
	return owner.Parse(d.Owner), there
}

// ListKeys lists what a pool's addresses are drawn for, in order.
func ListKeys(t transaction.Tree, pool string) ([]string, error) {
	l, err := readLedger(t, pool)
	if err != nil {
		return nil, err
	}
	return slices.Sorted(maps.Keys(l.Drawn)), nil
}

// FindAddress reads what is drawn for a key.
func FindAddress(t transaction.Tree, pool, key string) (Address, error) {
	l, err := readLedger(t, pool)
	if err != nil {
		return Address{}, err
	}
	d, there := l.Drawn[key]
	if !there {
		return Address{}, fmt.Errorf("key %q in address pool %q: %w", key, pool, transaction.ErrAbsent)
	}
	return Address{Pool: pool, Key: key, IP: d.IP}, nil
}

// DrawAddress draws an address for a key. By names the run, for people. What it chooses is free, as those say who were asked; where they
// were not asked about it, IsNotAsked tells the error.
func DrawAddress(t transaction.Tree, want Address, mark owner.Mark, by string, asked Asked) error {
	l, err := readLedger(t, want.Pool)
	if err != nil {
		if _, there := t[Place(want.Pool)]; !there {
			return errNoPool
		}
		return err
	}
	ip, err := l.drawAddress(want, asked)
	if err != nil {
		return err
	}
	l.recordSkipped(asked)
	if l.Drawn == nil {
		l.Drawn = map[string]drawn{}
	}
	l.Drawn[want.Key] = drawn{IP: ip, Owner: mark.String(), By: by}
	delete(l.Released, want.Key)
	return l.writeTo(t)
}

// ReleaseAddress gives a key's address back; the pool remembers it for the key.
func ReleaseAddress(t transaction.Tree, pool, key string) error {
	l, err := readLedger(t, pool)
	if _, there := t[Place(pool)]; !there {
		return nil
	}
	if err != nil {
		return err
	}
	d, there := l.Drawn[key]
	if !there {
		return nil
	}
	delete(l.Drawn, key)
	if l.Released == nil {
		l.Released = map[string]netip.Addr{}
	}
	l.Released[key] = d.IP
	return l.writeTo(t)
}
