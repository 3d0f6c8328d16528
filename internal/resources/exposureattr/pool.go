package exposureattr

import (
	"context"
	"fmt"
	"net/netip"

	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	planuses "github.com/virtcluster/terraform-provider-virtcluster/internal/plan"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/hostattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/addresspool"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/part"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
)

// PoolForm is what the id of a pool looks like.
const PoolForm = "SERVICE_NODE#POOL"

// Pool is the id of a pool.
var Pool = values.New("pool of addresses", "ssh://root@10.0.0.100#lan", func(id string) error {
	if _, _, err := hostattr.SplitID(id, PoolForm); err != nil {
		return fmt.Errorf("write the id of a virtcluster_address_pool: %w", err)
	}
	return nil
})

// Draw is what a pool has drawn, or is to draw, for a key.
type Draw struct {
	*part.Part[addresspool.Address]
	plan planuses.Notes
	// asked is who has the addresses that the pool could give next, as its machine sees it.
	asked     addresspool.Asked
	pool, key string
	// address is the one that is known to be drawn, where any is.
	address netip.Addr
}

// OpenAddress opens what a pool, by its id, has drawn or is to draw for a key.
func OpenAddress(ctx context.Context, at crud.Opening, id types.String, key string) (*Draw, error) {
	node, pool, err := hostattr.SplitID(id.ValueString(), PoolForm)
	if err != nil {
		return nil, service.At([]any{"pool"}, fmt.Errorf("write the id of a virtcluster_address_pool: %w", err))
	}
	d := &Draw{plan: at.Ledger, asked: addresspool.Asked{}, pool: pool, key: key}
	put := func(t transaction.Tree, want addresspool.Address) error {
		want.Pool, want.Key = pool, key
		return addresspool.DrawAddress(t, want, at.Claim.Mark(), owner.Describe(), d.asked)
	}
	d.Part, err = crud.OpenPart(ctx, at, node.ValueString(), part.Part[addresspool.Address]{
		Daemon: addresspool.Daemon{}, Owner: fmt.Sprintf("address for %q", key), Place: addresspool.Place(pool),
		ImportID: host.ShortenReferences(id.ValueString()) + "/" + key,
		Mark:     func(t transaction.Tree) (owner.Mark, bool) { return addresspool.AddressMark(t, pool, key) },
		Find: func(t transaction.Tree) (addresspool.Address, error) {
			return addresspool.FindAddress(t, pool, key)
		},
		Add: put, Set: put,
		Drop: func(t transaction.Tree) error { return addresspool.ReleaseAddress(t, pool, key) },
	})
	return d, err
}

// Get reads what is drawn, and tells the plan.
func (d *Draw) Get(ctx context.Context) (addresspool.Address, error) {
	return d.note(d.Part.Get(ctx))
}

// Create draws. Others who draw meanwhile may get what was asked about, and then more is asked.
func (d *Draw) Create(ctx context.Context, want addresspool.Address) (addresspool.Address, error) {
	want.Pool, want.Key = d.pool, d.key
	for {
		tree, err := d.Engine.Snapshot(ctx, d.Host, d.Daemon)
		if err != nil {
			return want, err
		}
		if err := d.asked.Ask(ctx, d.Host, tree, want); err != nil {
			return want, err
		}
		if got, err := d.Part.Create(ctx, want); !addresspool.IsNotAsked(err) {
			return d.note(got, err)
		}
	}
}

func (d *Draw) note(got addresspool.Address, err error) (addresspool.Address, error) {
	if err == nil {
		d.plan.Note(addresspool.NewDrawUse(got))
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
