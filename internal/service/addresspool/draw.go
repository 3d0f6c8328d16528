package addresspool

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/addressuse"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/hostnet"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/part"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// Draw is a crud.Store of what a pool has drawn, or is to draw, for a key.
type Draw struct {
	*part.Part[Address]
	// note is told of each address that turns out to be drawn.
	note func(Address)
	// asked is who has the addresses that the pool could give next, as its machine sees it.
	asked     Asked
	pool, key string
}

// NewDraw returns what a pool draws for a key, without its part. note is told of each address that turns out to be drawn.
func NewDraw(pool, key string, note func(Address)) *Draw {
	return &Draw{note: note, asked: Asked{}, pool: pool, key: key}
}

// NewPart returns the part of the pool's ledger that the draw is: mark is its owner's, and importID what `terraform import` takes for it.
func (d *Draw) NewPart(importID string, mark owner.Mark) part.Part[Address] {
	put := func(t transaction.Tree, want Address) error {
		want.Pool, want.Key = d.pool, d.key
		return DrawAddress(t, want, mark, owner.Describe(), d.asked)
	}
	return part.Part[Address]{
		Daemon: Daemon{}, Owner: fmt.Sprintf("address for %q", d.key), Place: Place(d.pool), ImportID: importID,
		Mark: func(t transaction.Tree) (owner.Mark, bool) { return AddressMark(t, d.pool, d.key) },
		Find: func(t transaction.Tree) (Address, error) { return FindAddress(t, d.pool, d.key) },
		Add:  put, Set: put,
		Drop: func(t transaction.Tree) error { return ReleaseAddress(t, d.pool, d.key) },
	}
}

// Get reads what is drawn, and tells the plan.
func (d *Draw) Get(ctx context.Context) (Address, error) {
	return d.announceDrawn(d.Part.Get(ctx))
}

// Create draws. Others who draw meanwhile may get what was asked about, and then more is asked.
func (d *Draw) Create(ctx context.Context, want Address) (Address, error) {
	want.Pool, want.Key = d.pool, d.key
	for {
		tree, err := d.Engine.Snapshot(ctx, d.Host, d.Daemon)
		if err != nil {
			return want, err
		}
		if err := d.asked.Ask(ctx, d.Host, tree, want); err != nil {
			return want, err
		}
		if got, err := d.Part.Create(ctx, want); !IsNotAsked(err) {
			return d.announceDrawn(got, err)
		}
	}
}

// announceDrawn tells the plan which address is drawn.
func (d *Draw) announceDrawn(got Address, err error) (Address, error) {
	if err == nil {
		d.note(got)
	}
	return got, err
}

// Warnings implements crud.Warner: what was skipped has somebody whom the pool does not know.
func (d *Draw) Warnings() []service.Problem {
	all := d.Part.Warnings()
	if words := d.asked.String(); words != "" {
		all = append(all, service.Warningf([]any{"pool"}, "Addresses of the pool are in use",
			"%s: these were not given out. Write them into the pool's reserved, or take them from who has them", words))
	}
	return all
}

// Asked says of addresses who has them, as the machine that keeps the pool sees it: "" where nobody does.
type Asked map[netip.Addr]string

// String names those that somebody has, with who that is.
func (a Asked) String() string {
	var words []string
	for _, address := range slices.SortedFunc(maps.Keys(a), netip.Addr.Compare) {
		if who := a[address]; who != "" {
			words = append(words, fmt.Sprintf("%s (%s)", address, who))
		}
	}
	if len(words) > shownKeys {
		words = append(words[:shownKeys], fmt.Sprintf("and %d more", len(words)-shownKeys))
	}
	return strings.Join(words, ", ")
}

// errNotAsked is that of a draw which would give out an address of which nobody knows whether it is free.
var errNotAsked = errors.New("nobody asked who has the address")

// IsNotAsked says that a draw has to Ask again: others drew meanwhile what was asked about.
func IsNotAsked(err error) bool { return errors.Is(err, errNotAsked) }

// askedAtOnce is how many addresses are asked about in one go: as many draws as Terraform makes at a time get one of them each.
const askedAtOnce = 16

// Ask adds who has the addresses that a key may get next. Where the machine has no device in an address's subnet, it cannot know, and the
// address counts as free.
func (a Asked) Ask(ctx context.Context, h host.Host, t transaction.Tree, want Address) error {
	l, err := readLedger(t, want.Pool)
	if _, drawn := drawnFor(l, want.Key); err != nil || drawn {
		return nil //nolint:nilerr // the draw says so, or needs nothing
	}
	use, err := addressuse.Look(ctx, h)
	if err != nil {
		return err
	}
	if want.IP.IsValid() {
		// What this state has besides may be what it is drawn for.
		suits := func(h addressuse.Holder) bool { return h.IsHere() || h.Kind == addressuse.Draw }
		return service.At([]any{"ip"}, use.Refuse(addressuse.Claim{Address: want.IP, Suits: suits}))
	}
	var next []netip.Addr
	for candidate := range l.candidatesFor(want.Key) {
		if who, known := a[candidate]; known && who != "" {
			continue
		}
		if next = append(next, candidate); len(next) == askedAtOnce {
			break
		}
	}
	found, err := use.Network.FindHolders(ctx, h, next, hostnet.Patience)
	if err != nil {
		return err
	}
	for _, candidate := range next {
		a[candidate] = found[candidate]
		for _, holder := range use.Holders(candidate) {
			if a[candidate] == "" && holder.Kind != addressuse.Draw {
				a[candidate] = holder.String()
			}
		}
	}
	return nil
}

func drawnFor(l *ledger, key string) (drawn, bool) {
	if l == nil {
		return drawn{}, false
	}
	d, there := l.Drawn[key]
	return d, there
}

// recordSkipped keeps in the ledger what was skipped, for people, and forgets what was found to be free.
func (l *ledger) recordSkipped(asked Asked) {
	for address, who := range asked {
		switch {
		case who == "":
			delete(l.Skipped, address)
		case l.Skipped == nil:
			l.Skipped = map[netip.Addr]string{address: who}
		default:
			l.Skipped[address] = who
		}
	}
}
