package addresspool

import (
	"context"
	"fmt"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
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
